package policy_test

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// TestComponents lists, for each request, the stock components that may send it.
func TestComponents(t *testing.T) {
	users := []user.Info{
		&user.DefaultInfo{Name: "system:kube-controller-manager"}, &user.DefaultInfo{Name: "system:kube-scheduler"},
		&user.DefaultInfo{Name: "system:kube-proxy"},
	}
	for _, controller := range []string{
		"deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller", "cronjob-controller",
		"disruption-controller", "endpointslice-controller", "generic-garbage-collector", "namespace-controller", "node-controller",
		"resourcequota-controller", "persistent-volume-binder", "service-account-controller",
	} {
		users = append(users, &user.DefaultInfo{Name: "system:serviceaccount:kube-system:" + controller})
	}
	users = append(users, &user.DefaultInfo{Name: "system:serviceaccount:other:generic-garbage-collector"})
	tests := map[string]string{
		"create apps:replicasets a":             "deployment-controller",
		"update apps:deployments/status a":      "deployment-controller generic-garbage-collector",
		"update apps:deployments/finalizers a":  "deployment-controller generic-garbage-collector",
		"update example.com:widgets a":          "generic-garbage-collector",
		"deletecollection example.com:things a": "namespace-controller",
		"list example.com:widgets a": "system:kube-controller-manager generic-garbage-collector namespace-controller " +
			"resourcequota-controller",
		"create pods a":                                 "replicaset-controller statefulset-controller job-controller persistent-volume-binder",
		"create batch:jobs a":                           "cronjob-controller",
		"create pods/binding a":                         "system:kube-scheduler",
		"create serviceaccounts/token kube-system":      "system:kube-controller-manager",
		"create serviceaccounts a":                      "system:kube-controller-manager service-account-controller",
		"get secrets a":                                 "system:kube-controller-manager generic-garbage-collector namespace-controller",
		"update policy:poddisruptionbudgets/status a":   "disruption-controller generic-garbage-collector",
		"get apps:deployments/scale a":                  "disruption-controller generic-garbage-collector namespace-controller",
		"create discovery.k8s.io:endpointslices a":      "endpointslice-controller",
		"update nodes":                                  "generic-garbage-collector node-controller",
		"update resourcequotas/status a":                "generic-garbage-collector resourcequota-controller",
		"create rbac.authorization.k8s.io:clusterroles": "",
		"escalate rbac.authorization.k8s.io:roles a":    "",
		"impersonate users":                             "",
		"create events.k8s.io:events a": "system:kube-controller-manager system:kube-scheduler system:kube-proxy deployment-controller " +
			"replicaset-controller statefulset-controller job-controller cronjob-controller disruption-controller endpointslice-controller " +
			"generic-garbage-collector node-controller resourcequota-controller persistent-volume-binder service-account-controller",
	}
	a := newAuthorizer(t)
	for request, want := range tests {
		t.Run(request, func(t *testing.T) {
			var allowed []string
			for _, u := range users {
				if decision, _, _ := a.Authorize(t.Context(), parse(u, request)); decision == authorizer.DecisionAllow {
					allowed = append(allowed, strings.TrimPrefix(u.GetName(), "system:serviceaccount:kube-system:"))
				}
			}
			if got := strings.Join(allowed, " "); got != want {
				t.Errorf("allowed to: %s\nwant: %s", got, want)
			}
		})
	}
}
