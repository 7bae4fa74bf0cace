package ownershipcheck_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// stored is an object that was applied and then changed.
type stored struct {
	// path is the path of its resource.
	path, name string
	// applied is the last-applied configuration as YAML, live the stored object.
	applied, live string
}

// body returns the stored object as JSON.
func (s stored) body(t *testing.T) []byte {
	t.Helper()
	live := yamltest.Map(t, s.live)
	if s.applied != "" {
		config := yamltest.JSON(t, s.applied)
		live = ownership.WithLastApplied(live, string(config))
	}
	data, err := json.Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const (
	configMaps  = "/api/v1/namespaces/default/configmaps"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

// applications returns the objects of the table.
func applications() map[string]stored {
	const (
		settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "1", b: "1"}}`
		web      = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, paused: false,
			selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [
			{name: web, image: nginx, args: [], resources: {limits: {cpu: 1000m}}}]}}}}`
		service = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`
		secret  = `{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: "1"}}`
		dns     = `{apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {ports: [{port: 53, name: tcp, targetPort: 53},
			{port: 53, name: udp, protocol: UDP, targetPort: 53}]}}`
		role = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: none}, rules: []}`
	)
	return map[string]stored{
		"config":    {configMaps, "settings", settings, settings},
		"drifted":   {configMaps, "settings", settings, strings.Replace(settings, `a: "1"`, `a: "2"`, 1)},
		"plain":     {configMaps, "settings", "", settings},
		"malformed": {configMaps, "settings", "[]", settings},
		"ignored": {
			configMaps, "settings", settings,
			strings.Replace(settings, "name: settings", "name: settings, annotations: {holdfast.dev/ownership: ignore}", 1),
		},
		"web":     {deployments, "web", web, web},
		"service": {"/api/v1/namespaces/default/services", "web", service, service},
		"dns":     {"/api/v1/namespaces/default/services", "dns", dns, dns},
		"secret":  {"/api/v1/namespaces/default/secrets", "keys", secret, secret},
		"role":    {"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "none", role, role},
	}
}

// written is a write of a command to one of the objects.
type written struct {
	object, command string
	// media is the media type of a patch, "" for a PUT.
	media types.PatchType
	// subresource is "" or "/scale".
	subresource string
	body        string
}

// TestParity sends the same writes to a server that checks ownership, and through the Checker
// to one that does not. The answers are the same. Only the server knows which command set the
// live value, so the table leaves that out.
func TestParity(t *testing.T) {
	servers := []*servertest.Server{
		servertest.Start(t, apiserver.Config{}), servertest.Start(t, apiserver.Config{Ownership: "off"}),
	}
	const (
		merge, strategic, apply = types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType
		image                   = `{spec: {template: {spec: {containers: [{name: web, image: other}]}}}}`
		replacement             = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "3"}}`
	)
	tests := map[string]written{
		"patch":                      {"config", "holdfast patch", merge, "", `{data: {a: "3"}}`},
		"patch of a free field":      {"config", "holdfast patch", merge, "", `{data: {c: "3"}}`},
		"patch that removes":         {"config", "holdfast patch", merge, "", `{data: {a: null}}`},
		"patch that repairs":         {"drifted", "holdfast patch", merge, "", `{data: {a: "1"}}`},
		"patch of many":              {"config", "holdfast label", merge, "", `{data: {a: "3", b: "3"}}`},
		"patch, never applied":       {"plain", "holdfast patch", merge, "", `{data: {a: "3"}}`},
		"patch, malformed":           {"malformed", "holdfast patch", merge, "", `{data: {a: "3"}}`},
		"patch, ignored":             {"ignored", "holdfast patch", merge, "", `{data: {a: "3"}}`},
		"edit":                       {"config", "holdfast edit", merge, "", `{data: {a: "3"}}`},
		"edit that repairs":          {"drifted", "holdfast edit", merge, "", `{data: {a: "1"}}`},
		"edit of a free field":       {"config", "holdfast edit", merge, "", `{data: {c: "3"}}`},
		"apply that reverts":         {"drifted", "holdfast apply", merge, "", `{data: {a: "1"}}`},
		"apply of a new field":       {"config", "holdfast apply", merge, "", `{data: {c: "3"}}`},
		"apply, never applied":       {"plain", "holdfast apply", merge, "", `{data: {a: "3"}}`},
		"replace":                    {"config", "holdfast replace", "", "", replacement},
		"replace, never applied":     {"plain", "holdfast replace", "", "", replacement},
		"set image":                  {"web", "holdfast set image", strategic, "", image},
		"set image, by edit":         {"web", "holdfast edit", strategic, "", image},
		"pause":                      {"web", "holdfast rollout pause", strategic, "", `{spec: {paused: true}}`},
		"args":                       {"web", "holdfast patch", strategic, "", strings.Replace(image, "image: other", "args: [-v]", 1)},
		"scale":                      {"web", "holdfast scale", merge, "/scale", `{spec: {replicas: 3}}`},
		"target port":                {"service", "holdfast patch", strategic, "", `{spec: {ports: [{port: 80, targetPort: 8080}]}}`},
		"first of two ports":         {"dns", "holdfast edit", merge, "", ports(54, 53)},
		"second of two ports":        {"dns", "holdfast edit", merge, "", ports(53, 54)},
		"data of a secret":           {"secret", "holdfast patch", merge, "", `{data: {a: Mg==}}`},
		"string data of a secret":    {"secret", "holdfast patch", merge, "", `{stringData: {a: "2"}}`},
		"edit of a secret":           {"secret", "holdfast edit", merge, "", `{data: {a: Mg==}}`},
		"rules":                      {"role", "holdfast patch", merge, "", `{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
		"rules, the same again":      {"role", "holdfast apply", merge, "", `{rules: []}`},
		"server-side apply":          {"config", "holdfast apply", apply, "", replacement},
		"server-side apply, drifted": {"drifted", "holdfast apply", apply, "", replacement},
		"a program":                  {"config", "", merge, "", `{data: {a: "3"}}`},
		"a program, free field":      {"config", "", merge, "", `{data: {c: "3"}}`},
		"edit, with many fields":     {"config", "holdfast edit", merge, "", `{data: {a: "3", b: "3"}}`},
		"edit, malformed":            {"malformed", "holdfast edit", merge, "", `{data: {a: "3"}}`},
		"replace with the same":      {"config", "holdfast replace", "", "", strings.Replace(replacement, `a: "3"`, `a: "1", b: "1"`, 1)},
	}
	warned := 0
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var answers []string
			for _, server := range servers {
				answers = append(answers, test.send(t, server))
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Errorf("answers (-server +checker):\n%s", diff)
			}
			if strings.Contains(answers[0], "kubectl apply`") {
				warned++
			}
		})
	}
	if warned < len(tests)/2 {
		t.Errorf("only %d of %d writes are warned about or refused", warned, len(tests))
	}
}

// ports returns a patch of a Service with a TCP and a UDP port of the same number.
func ports(tcpTarget, udpTarget int) string {
	return fmt.Sprintf(`{spec: {ports: [{port: 53, name: tcp, targetPort: %d}, {port: 53, name: udp, protocol: UDP, targetPort: %d}]}}`,
		tcpTarget, udpTarget)
}

// lastSet is the part of a warning that names the source of the live value.
var lastSet = regexp.MustCompile(`  Last set by [^\n]*`)

// send creates the object, sends the write, and returns the warnings and the error, and the
// stored last-applied configuration.
func (w written) send(t *testing.T, server *servertest.Server) string {
	t.Helper()
	of := applications()[w.object]
	root := server.Client(t).CoreV1().RESTClient()
	if err := root.Post().AbsPath(of.path).Param("fieldManager", "kubectl-client-side-apply").
		SetHeader("Content-Type", "application/json").Body(of.body(t)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Delete().AbsPath(of.path, of.name).Do(t.Context()).Error(); err != nil {
			t.Error(err)
		}
	}()
	body := yamltest.JSON(t, w.body)
	c := newClient(t, server.Config(t), w.command)
	request := c.CoreV1().RESTClient().Put().SetHeader("Content-Type", "application/json")
	if w.media != "" {
		request = c.CoreV1().RESTClient().Patch(w.media)
	}
	if w.media == types.ApplyPatchType {
		request = request.Param("fieldManager", "ci").Param("force", "true")
	}
	lines := []string{"ok"}
	if err := request.AbsPath(of.path, of.name+w.subresource).Body(body).Do(t.Context()).Error(); err != nil {
		lines[0] = err.Error()
	}
	for _, warning := range c.warnings() {
		lines = append(lines, lastSet.ReplaceAllString(warning, ""))
	}
	live, err := root.Get().AbsPath(of.path, of.name).Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal(live, &object); err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(lines, "applied: "+object.Metadata.Annotations[ownership.LastApplied]), "\n")
}
