package matrix_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// expected is the HTTP status of every request for every user. Writes are dry runs, so
// that they do not change the result of the next request. The word after the path is
// the name of the body, see bodies. $ stands for /api/v1/namespaces/shop, and @GROUP
// for /apis/GROUP/v1/namespaces/shop.
const expected = `
                                                              root anonymous norole view edit admin node robot

GET    /healthz                                               200  200       200    200  200  200   200  200
GET    /livez                                                 200  200       200    200  200  200   200  200
GET    /readyz                                                200  200       200    200  200  200   200  200
GET    /readyz/etcd                                           200  401       403    403  403  403   403  403
GET    /version                                               200  401       200    200  200  200   200  200
GET    /api                                                   200  401       200    200  200  200   200  200
GET    /apis/apps/v1                                          200  401       200    200  200  200   200  200
GET    /openapi/v3                                            200  401       200    200  200  200   200  200
GET    /metrics                                               200  401       403    403  403  403   403  403
GET    /.well-known/openid-configuration                      200  401       403    403  403  403   403  200
GET    /openid/v1/jwks                                        200  401       403    403  403  403   403  200
GET    /nowhere                                               404  401       403    403  403  403   403  403

GET    $/configmaps                                           200  401       403    200  200  200   403  200
GET    $/configmaps?watch=true                                200  401       403    200  200  200   403  200
GET    $/configmaps/settings                                  200  401       403    200  200  200   200  200
GET    $/configmaps/unused                                    200  401       403    200  200  200   403  200
GET    $/configmaps/missing                                   404  401       403    404  404  404   403  404
POST   $/configmaps configmap                                 201  401       403    403  201  201   403  403
PUT    $/configmaps/settings settings                         200  401       403    403  200  200   403  403
PATCH  $/configmaps/settings label                            200  401       403    403  200  200   403  403
DELETE $/configmaps/settings                                  200  401       403    403  200  200   403  403
DELETE $/configmaps                                           200  401       403    403  200  200   403  403
GET    /api/v1/configmaps                                     200  401       403    403  403  403   403  403
GET    /api/v1/namespaces/office/configmaps                   200  401       403    403  403  403   403  403
POST   /api/v1/namespaces/office/configmaps configmap         201  401       403    403  403  403   403  403

GET    $/secrets                                              200  401       403    403  200  200   403  403
GET    $/secrets?watch=true                                   200  401       403    403  200  200   403  403
GET    $/secrets/password                                     200  401       403    403  200  200   200  403
GET    $/secrets/foreign                                      200  401       403    403  200  200   403  403
GET    $/secrets?fieldSelector=metadata.name%3Dpassword       200  401       403    403  200  200   200  403
GET    $/secrets?fieldSelector=metadata.name%3Dforeign        200  401       403    403  200  200   403  403
PATCH  $/secrets/password label                               200  401       403    403  200  200   403  403

GET    $/pods                                                 200  401       403    200  200  200   403  403
GET    /api/v1/pods?fieldSelector=spec.nodeName%3Dn1          200  401       403    403  403  403   200  403
GET    /api/v1/pods?fieldSelector=spec.nodeName%3Dn2          200  401       403    403  403  403   403  403
GET    $/pods/mine                                            200  401       403    200  200  200   200  403
GET    $/pods/theirs                                          200  401       403    200  200  200   403  403
POST   $/pods pod                                             201  401       403    403  201  201   403  403
PATCH  $/pods/mine label                                      200  401       403    403  200  200   403  403
DELETE $/pods/mine                                            200  401       403    403  200  200   200  403
DELETE $/pods/theirs                                          200  401       403    403  200  200   403  403
GET    $/pods/mine/status                                     200  401       403    200  200  200   403  403
PATCH  $/pods/mine/status podstatus                           200  401       403    403  403  403   200  403
PATCH  $/pods/theirs/status podstatus                         200  401       403    403  403  403   403  403

GET    @apps/deployments/web                                  200  401       403    200  200  200   403  403
GET    @apps/deployments/web/scale                            200  401       403    200  200  200   403  403
PATCH  @apps/deployments/web/scale scale                      200  401       403    403  200  200   403  403
PATCH  @apps/deployments/web/status label                     200  401       403    403  403  403   403  403

GET    @example.com/widgets                                   200  401       403    200  200  200   403  403
GET    @example.com/widgets?watch=true                        200  401       403    200  200  200   403  403
GET    @example.com/widgets/w                                 200  401       403    200  200  200   403  403
POST   @example.com/widgets widget                            201  401       403    403  201  201   403  403
PATCH  @example.com/widgets/w label                           200  401       403    403  200  200   403  403
DELETE @example.com/widgets/w                                 200  401       403    403  200  200   403  403
DELETE @example.com/widgets                                   200  401       403    403  200  200   403  403
GET    @example.com/widgets/w/status                          200  401       403    403  403  403   403  403
PATCH  @example.com/widgets/w/status widgetstatus             200  401       403    403  403  403   403  403
GET    @example.com/widgets/w/scale                           200  401       403    200  200  200   403  403
PATCH  @example.com/widgets/w/scale scale                     200  401       403    403  200  200   403  403
GET    /apis/example.com/v1/widgets                           200  401       403    403  403  403   403  403

GET    $/serviceaccounts                                      200  401       403    200  200  200   403  403
POST   $/serviceaccounts/robot/token token                    201  401       403    403  201  201   403  403
POST   $/serviceaccounts/default/token minetoken              201  401       403    403  201  201   201  403
GET    @rbac.authorization.k8s.io/roles                       200  401       403    403  403  200   403  403
POST   @rbac.authorization.k8s.io/roles role                  201  401       403    403  403  201   403  403
POST   @rbac.authorization.k8s.io/rolebindings bindview       201  401       403    403  403  201   403  403
POST   $/resourcequotas quota                                 201  401       403    403  403  403   403  403
GET    $/resourcequotas                                       200  401       403    200  200  200   403  403

GET    /api/v1/namespaces                                     200  401       403    403  403  403   403  403
GET    /api/v1/namespaces/shop                                200  401       403    200  200  200   403  403
DELETE /api/v1/namespaces/shop                                200  401       403    403  403  403   403  403
GET    /api/v1/nodes                                          200  401       403    403  403  403   403  403
GET    /api/v1/nodes/n1                                       200  401       403    403  403  403   200  403
GET    /api/v1/nodes/n2                                       200  401       403    403  403  403   403  403
PATCH  /api/v1/nodes/n1 label                                 200  401       403    403  403  403   200  403
PATCH  /api/v1/nodes/n2 label                                 200  401       403    403  403  403   403  403
PATCH  /api/v1/nodes/n1/status nodestatus                     200  401       403    403  403  403   200  403
DELETE /api/v1/nodes/n1                                       200  401       403    403  403  403   403  403
GET    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1
                                                              200  401       403    403  403  403   200  403
GET    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2
                                                              200  401       403    403  403  403   403  403
PATCH  /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1 lease
                                                              200  401       403    403  403  403   200  403
GET    /apis/rbac.authorization.k8s.io/v1/clusterroles        200  401       403    403  403  403   403  403
POST   /apis/rbac.authorization.k8s.io/v1/clusterroles role   201  401       403    403  403  403   403  403
GET    /apis/apiextensions.k8s.io/v1/customresourcedefinitions
                                                              200  401       403    403  403  403   403  403

POST   /apis/authorization.k8s.io/v1/selfsubjectaccessreviews self
                                                              201  401       201    201  201  201   201  201
POST   /apis/authorization.k8s.io/v1/selfsubjectrulesreviews rules
                                                              201  401       201    201  201  201   201  201
POST   /apis/authentication.k8s.io/v1/selfsubjectreviews empty
                                                              201  401       201    201  201  201   201  201
POST   /apis/authorization.k8s.io/v1/subjectaccessreviews other
                                                              201  401       403    403  403  403   201  403
POST   @authorization.k8s.io/localsubjectaccessreviews other  201  401       403    403  403  201   201  403
POST   /apis/authentication.k8s.io/v1/tokenreviews review     201  401       403    403  403  403   201  403

GET    /api/v1/services                                       200  401       403    403  403  403   200  403
GET    /apis/node.k8s.io/v1/runtimeclasses                    200  401       403    403  403  403   200  403
GET    /apis/storage.k8s.io/v1/csidrivers                     200  401       403    403  403  403   200  403
GET    /apis/storage.k8s.io/v1/csinodes                       200  401       403    403  403  403   403  403
GET    /apis/storage.k8s.io/v1/csinodes/n1                    404  401       403    403  403  403   404  403
GET    /apis/storage.k8s.io/v1/csinodes/n2                    404  401       403    403  403  403   403  403
POST   /apis/storage.k8s.io/v1/csinodes csinode               201  401       403    403  403  403   201  403
GET    /apis/storage.k8s.io/v1/volumeattachments              200  401       403    403  403  403   403  403
GET    $/persistentvolumeclaims/data                          404  401       403    404  404  404   403  403
GET    /apis/certificates.k8s.io/v1/clustertrustbundles       200  401       403    403  403  403   200  200
GET    /apis/resource.k8s.io/v1/resourceslices                200  401       403    403  403  403   403  403
GET    /apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn1
                                                              200  401       403    403  403  403   200  403
POST   $/pods/mine/eviction eviction                          201  401       403    403  201  201   201  403
POST   $/pods/theirs/eviction theireviction                   201  401       403    403  201  201   403  403
`

// bodies returns the bodies of requests, in YAML, by name.
func (s *setup) bodies() map[string]string {
	return map[string]string{
		"empty":         "{}",
		"configmap":     "{metadata: {generateName: new-}, data: {a: b}}",
		"settings":      "{metadata: {name: settings}, data: {a: c}}",
		"label":         "{metadata: {labels: {a: b}}}",
		"pod":           "{metadata: {generateName: new-}, spec: {containers: [{name: c, image: i}]}}",
		"podstatus":     "{status: {phase: Running}}",
		"csinode":       "{metadata: {name: n1}, spec: {drivers: []}}",
		"eviction":      "{apiVersion: policy/v1, kind: Eviction, metadata: {name: mine}}",
		"theireviction": "{apiVersion: policy/v1, kind: Eviction, metadata: {name: theirs}}",
		"nodestatus":    "{status: {conditions: [{type: Ready, status: 'True'}]}}",
		"lease":         "{spec: {holderIdentity: n1}}",
		"scale":         "{spec: {replicas: 2}}",
		"widget":        "{apiVersion: example.com/v1, kind: Widget, metadata: {generateName: new-}, spec: {color: red}}",
		"widgetstatus":  "{status: {replicas: 1}}",
		"token":         "{spec: {audiences: []}}",
		"minetoken":     "{spec: {audiences: [], boundObjectRef: {apiVersion: v1, kind: Pod, name: mine, uid: " + s.uids["mine"] + "}}}",
		"role":          "{metadata: {generateName: new-}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"bindview": "{metadata: {generateName: new-}, subjects: [{kind: User, name: friend}], " +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}",
		"quota": "{metadata: {generateName: new-}, spec: {hard: {pods: '10'}}}",
		"self":  "{spec: {resourceAttributes: {verb: get, resource: pods, namespace: shop}}}",
		"rules": "{spec: {namespace: shop}}",
		"other": "{metadata: {namespace: shop}, " +
			"spec: {user: vera, resourceAttributes: {verb: get, resource: pods, namespace: shop}}}",
		"review": "{spec: {token: abc}}",
	}
}

// cell is one request of one user with the wanted HTTP status.
type cell struct {
	user, method, path, body string
	want                     int
}

func (c cell) String() string { return fmt.Sprintf("%s: %s %s", c.user, c.method, c.path) }

// cells parses a table like expected.
func (s *setup) cells(t *testing.T, table string) []cell {
	t.Helper()
	bodies := s.bodies()
	var cells []cell
	var users, request []string
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case users == nil:
			users = words
			continue
		}
		first := len(words)
		for first > 0 {
			if _, err := strconv.Atoi(words[first-1]); err != nil {
				break
			}
			first--
		}
		// A long request has its statuses in the next line.
		request = append(request, words[:first]...)
		if first == len(words) {
			continue
		}
		if statuses := words[first:]; len(statuses) != len(users) || len(request) < 2 {
			t.Fatalf("line %q has %d statuses for %d users", line, len(statuses), len(users))
		}
		c := cell{method: request[0], path: expand(request[1])}
		if len(request) > 2 {
			text, ok := bodies[request[2]]
			if !ok {
				t.Fatalf("line %q: no body %s", line, request[2])
			}
			c.body = toJSON(t, text)
		}
		if c.method != http.MethodGet {
			c.path += "?dryRun=All"
		}
		for i, name := range users {
			c.user = name
			c.want, _ = strconv.Atoi(words[first+i])
			cells = append(cells, c)
		}
		request = nil
	}
	return cells
}

// expand replaces $ and @GROUP at the start of a path.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "$"); ok {
		return "/api/v1/namespaces/shop" + rest
	}
	if rest, ok := strings.CutPrefix(path, "@"); ok {
		group, resource, _ := strings.Cut(rest, "/")
		return "/apis/" + group + "/v1/namespaces/shop/" + resource
	}
	return path
}

// check sends all requests of a table and compares the statuses.
func (s *setup) check(t *testing.T, table string) {
	t.Helper()
	cells := s.cells(t, table)
	// The authorizers learn of bindings and pods through watches, with a delay. So wait
	// until every allowed request succeeds. A request that must be refused is never
	// allowed, so it needs no waiting.
	for _, c := range cells {
		if c.want < http.StatusBadRequest {
			waittest.Until(t, fmt.Sprintf("%s gets status %d", c, c.want), func() bool {
				return s.users[c.user].send(t, c.method, c.path, c.body).status == c.want
			})
		}
	}
	for _, c := range cells {
		if got := s.users[c.user].send(t, c.method, c.path, c.body); got.status != c.want {
			t.Errorf("%s: got %d, want %d: %s", c, got.status, c.want, got.body)
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	newSetup(t, apiserver.Config{}).check(t, expected)
}
