package policy_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"holdfast.dev/holdfast/internal/access/policy"
)

// kubernetesNodeRules are the rules of the ClusterRole system:node of Kubernetes 1.37: groups,
// resources and verbs. They include the stable features; PodCertificateRequests are not served.
const kubernetesNodeRules = `
authentication.k8s.io            tokenreviews                                    create
authorization.k8s.io             subjectaccessreviews,localsubjectaccessreviews  create
""                               services                                        get,list,watch
""                               nodes                                           create,get,list,watch,update,patch
""                               nodes/status                                    update,patch
"",events.k8s.io                 events                                          create,update,patch
""                               pods                                            get,list,watch,create,delete
""                               pods/status                                     update,patch
""                               pods/eviction                                   create
""                               secrets,configmaps                              get,list,watch
""                               persistentvolumeclaims,persistentvolumes        get
""                               persistentvolumeclaims/status                   get,update,patch
""                               endpoints                                       get
""                               serviceaccounts                                 get
""                               serviceaccounts/token                           create
certificates.k8s.io              certificatesigningrequests                      create,get,list,watch
certificates.k8s.io              clustertrustbundles                             get,list,watch
coordination.k8s.io              leases                                          get,create,update,patch,delete
storage.k8s.io                   volumeattachments                               get
storage.k8s.io                   csidrivers                                      get,list,watch
storage.k8s.io                   csinodes                                        get,create,update,patch,delete
node.k8s.io                      runtimeclasses                                  get,list,watch
resource.k8s.io                  resourceclaims                                  get
resource.k8s.io                  resourceslices                                  deletecollection
`

// TestNodeRulesAreThoseOfKubernetes compares the role system:node with that of Kubernetes, both ways.
func TestNodeRulesAreThoseOfKubernetes(t *testing.T) {
	var want []rbacv1.PolicyRule
	for line := range strings.Lines(kubernetesNodeRules) {
		words := strings.Fields(strings.ReplaceAll(line, `""`, "core"))
		if len(words) != 3 {
			continue
		}
		groups := strings.Split(strings.ReplaceAll(words[0], "core", ""), ",")
		want = append(want, rbacv1.PolicyRule{
			APIGroups: groups, Resources: strings.Split(words[1], ","), Verbs: strings.Split(words[2], ","),
		})
	}
	if covered, missing := validation.Covers(policy.NodeRules(), want); !covered {
		t.Errorf("system:node lacks %v", missing)
	}
	if covered, more := validation.Covers(want, policy.NodeRules()); !covered {
		t.Errorf("system:node has more than in Kubernetes: %v", more)
	}
}
