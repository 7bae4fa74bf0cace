package node_test

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/node/nodetest"
)

func TestAuthorize(t *testing.T) {
	index, _ := newIndex(t)
	a := node.NewAuthorizer(index, nodetest.Relations(t))
	allowed := []string{
		"get configmaps a/cm-volume", "get configmaps a/cm-projected", "get configmaps a/cm-init", "get configmaps a/cm-from",
		"get secrets a/pull", "get secrets a/s-volume", "get secrets a/s-projected", "get secrets a/s-azure", "get secrets a/s-csi",
		"get secrets a/s-ceph", "get secrets a/s-cinder", "get secrets a/s-flex", "get secrets a/s-iscsi", "get secrets a/s-rbd",
		"get secrets a/s-scaleio", "get secrets a/s-storageos", "get secrets a/s-env", "get secrets a/s-from",
		"get secrets a/s-ephemeral", "get secrets a/s-shared",
		"list secrets a metadata.name=s-volume", "watch secrets a metadata.name=s-volume", "watch configmaps a/cm-volume",
		"watch secrets - holdfast.dev/used-by-node=n1", "list configmaps - holdfast.dev/used-by-node=n1",
		"create serviceaccounts/token a/robot", "get serviceaccounts a/robot",
		"get persistentvolumeclaims a/data", "get persistentvolumeclaims a/web-scratch", "patch persistentvolumeclaims/status a/data",
		"get persistentvolumes /bound", "get secrets vault/stage", "get storage.k8s.io:volumeattachments /attached",
		"get resource.k8s.io:resourceclaims a/gpu", "get resource.k8s.io:resourceclaims a/web-generated",
		"get resource.k8s.io:resourceslices /own", "delete resource.k8s.io:resourceslices /own",
		"create resource.k8s.io:resourceslices", "list resource.k8s.io:resourceslices - spec.nodeName=n1",
		"deletecollection resource.k8s.io:resourceslices - spec.nodeName=n1",
		"list services", "get endpoints a/x", "list storage.k8s.io:csidrivers", "get storage.k8s.io:csinodes /n1",
		"create storage.k8s.io:csinodes", "create pods a", "create pods/eviction a/web", "create authentication.k8s.io:tokenreviews",
		"create authorization.k8s.io:subjectaccessreviews",
		"get pods a/web", "list pods - spec.nodeName=n1", "watch pods a spec.nodeName=n1",
		"update pods/status a/web", "patch pods/status a/web", "delete pods a/web", "delete pods a/just-bound",
		"get nodes /n1", "update nodes /n1", "patch nodes/status /n1", "create nodes",
		"list nodes - metadata.name=n1", "watch nodes - metadata.name=n1",
		"create coordination.k8s.io:leases kube-node-lease", "get coordination.k8s.io:leases kube-node-lease/n1",
		"update coordination.k8s.io:leases kube-node-lease/n1",
		"create events a", "patch events a/x", "create events.k8s.io:events a",
		"get node.k8s.io:runtimeclasses /x", "list node.k8s.io:runtimeclasses", "watch node.k8s.io:runtimeclasses",
		"get certificates.k8s.io:clustertrustbundles /x", "list certificates.k8s.io:clustertrustbundles",
		"create certificates.k8s.io:certificatesigningrequests", "get certificates.k8s.io:certificatesigningrequests /x",
	}
	const (
		noRelation     = "no relationship found between node 'n1' and this object"
		needsSelector  = "a node lists and watches secrets by name or with the field selector holdfast.dev/used-by-node=n1"
		needsSliceNode = "a node lists and watches resourceslices with the field selector spec.nodeName=n1"
		needsNodeName  = "a node lists and watches pods with the field selector spec.nodeName=n1"
	)
	refused := map[string]string{
		"get secrets a/s-theirs":                                            noRelation,
		"get secrets a/s-waiting":                                           noRelation,
		"get secrets b/s-volume":                                            noRelation,
		"get secrets a/cm-volume":                                           noRelation,
		"get configmaps a/s-volume":                                         noRelation,
		"get secrets a/robot":                                               noRelation,
		"get secrets a":                                                     needsSelector,
		"list secrets a":                                                    needsSelector,
		"list secrets":                                                      needsSelector,
		"watch secrets a metadata.name!=s-volume":                           needsSelector,
		"watch secrets - metadata.name=s-volume":                            needsSelector,
		"watch secrets a metadata.name=s-theirs":                            noRelation,
		"watch secrets - holdfast.dev/used-by-node=n2":                      needsSelector,
		"watch secrets - type=x":                                            needsSelector,
		"update secrets a/s-volume":                                         "a node only reads secrets",
		"create configmaps a":                                               "a node only reads configmaps",
		"delete configmaps a/cm-volume":                                     "a node only reads configmaps",
		"get secrets/status a/s-volume":                                     "a node has no access to secrets/status",
		"create serviceaccounts/token a/theirs":                             noRelation,
		"create serviceaccounts/token b/robot":                              noRelation,
		"get serviceaccounts/token a/robot":                                 "a node may not get serviceaccounts",
		"get serviceaccounts a/theirs":                                      noRelation,
		"list serviceaccounts a":                                            "a node may not list serviceaccounts",
		"get persistentvolumeclaims a/theirs":                               noRelation,
		"update persistentvolumeclaims a/data":                              "a node may not update persistentvolumeclaims",
		"get persistentvolumes /free":                                       noRelation,
		"get secrets vault/controller":                                      noRelation,
		"get storage.k8s.io:volumeattachments /theirs":                      noRelation,
		"list storage.k8s.io:volumeattachments":                             "a node may not list volumeattachments",
		"get resource.k8s.io:resourceclaims a/theirs":                       noRelation,
		"get resource.k8s.io:resourceslices /theirs":                        noRelation,
		"list resource.k8s.io:resourceslices":                               needsSliceNode,
		"get storage.k8s.io:csinodes /n2":                                   "node 'n1' cannot read or write csinodes of other nodes",
		"update storage.k8s.io:csidrivers /x":                               "a node may not update csidrivers",
		"create services a":                                                 "a node may not create services",
		"create pods/eviction a/other":                                      noRelation,
		"get pods a/other":                                                  noRelation,
		"get pods a/waiting":                                                noRelation,
		"list pods":                                                         needsNodeName,
		"list pods - spec.nodeName=n2":                                      needsNodeName,
		"list pods a":                                                       needsNodeName,
		"update pods a/web":                                                 "a node only reads, creates and deletes pods",
		"deletecollection pods a spec.nodeName=n1":                          "a node only reads, creates and deletes pods",
		"update pods/status a/other":                                        noRelation,
		"get pods/status a/web":                                             "a node may not get pods",
		"delete pods a/other":                                               noRelation,
		"create pods/binding a/web":                                         "a node has no access to pods/binding",
		"create pods/exec a/web":                                            "a node has no access to pods/exec",
		"get nodes /n2":                                                     "node 'n1' cannot read or write other nodes",
		"list nodes":                                                        "node 'n1' cannot read or write other nodes",
		"update nodes/status /n2":                                           "node 'n1' cannot read or write other nodes",
		"delete nodes /n1":                                                  "a node may not delete nodes",
		"get coordination.k8s.io:leases kube-node-lease/n2":                 "node 'n1' cannot read or write leases of other nodes",
		"get coordination.k8s.io:leases kube-system/n1":                     "a node has a lease in namespace kube-node-lease only",
		"list coordination.k8s.io:leases kube-node-lease":                   "a node may not list leases",
		"get events a/x":                                                    "a node may not get events",
		"get apps:deployments a/x":                                          "a node has no access to deployments",
		"get apps:secrets a/s-volume":                                       "a node has no access to secrets",
		"update certificates.k8s.io:clustertrustbundles /x":                 "a node may not update clustertrustbundles",
		"update node.k8s.io:runtimeclasses /x":                              "a node may not update runtimeclasses",
		"update certificates.k8s.io:certificatesigningrequests/approval /x": "a node has no access to certificatesigningrequests/approval",
		"create rbac.authorization.k8s.io:rolebindings a":                   "a node has no access to rolebindings",
	}
	for _, request := range allowed {
		decision, reason, err := a.Authorize(t.Context(), parse(t, nodetest.User("n1"), request))
		if decision != authorizer.DecisionAllow || err != nil {
			t.Errorf("%s: refused: %s %v", request, reason, err)
		}
	}
	for request, want := range refused {
		decision, reason, err := a.Authorize(t.Context(), parse(t, nodetest.User("n1"), request))
		if decision != authorizer.DecisionNoOpinion || reason != want || err != nil {
			t.Errorf("%s: %v %q %v, want %q", request, decision, reason, err, want)
		}
	}
	for name, u := range map[string]user.Info{
		"neither name nor group of a node":      &user.DefaultInfo{Name: "ann"},
		"name of a node, not in the group":      &user.DefaultInfo{Name: "system:node:n1"},
		"in the group, not the name of a node":  &user.DefaultInfo{Name: "ann", Groups: []string{user.NodesGroup}},
		"in the group, empty name after prefix": nodetest.User(""),
		"no user":                               nil,
	} {
		for _, request := range append(allowed, "get pods a/waiting", "list pods - spec.nodeName=", "create serviceaccounts/token a/") {
			if decision, _, _ := a.Authorize(t.Context(), parse(t, u, request)); decision != authorizer.DecisionNoOpinion {
				t.Errorf("%s: %s: %v", name, request, decision)
			}
		}
	}
}

func BenchmarkAuthorize(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", count), func(b *testing.B) {
			index, items := newIndex(b)
			for i := range count {
				pod := items[0].DeepCopy()
				pod.Name, pod.Spec.NodeName = fmt.Sprintf("web-%d", i), fmt.Sprintf("node-%d", i%100)
				index.Set(pod)
			}
			a, request := node.NewAuthorizer(index, nil), parse(b, nodetest.User("node-7"), "get secrets a/s-env")
			for b.Loop() {
				if decision, _, _ := a.Authorize(b.Context(), request); decision != authorizer.DecisionAllow {
					b.Fatal(decision)
				}
			}
		})
	}
}
