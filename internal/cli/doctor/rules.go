package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/policies"
)

// ruleFiles checks that the files of --rules-dir are in force as they are, and that all servers of the etcd have the same. Servers that
// share an etcd have a Lease each, which says so. A single server has the metric.
func (s *server) ruleFiles(ctx context.Context) []check {
	const name = "rules"
	leases, err := s.client.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: "apiserver.kubernetes.io/identity=holdfast",
	})
	if err != nil {
		return []check{unread(name, err)}
	}
	found := judgeLeases(leases.Items, time.Now())
	if len(found) == 0 {
		families, err := s.metrics(ctx)
		switch {
		case apierrors.IsForbidden(err):
		case err != nil:
			return []check{unread(name, err)}
		default:
			for _, metric := range families["holdfast_rules_dir_wrong"].GetMetric() {
				if metric.GetGauge().GetValue() != 0 {
					found = append(found, wrongFile("this server", "see its log"))
				}
			}
		}
	}
	return orGood(name, "the policies in files are in force as the files are", found)
}

// judgeLeases returns what is wrong with the files of servers that renew their Lease.
func judgeLeases(leases []coordinationv1.Lease, now time.Time) []check {
	var found []check
	byDigest := map[string][]string{}
	for i := range leases {
		lease := &leases[i]
		digest := lease.Annotations[policies.FilesAnnotation]
		if digest == "" || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil ||
			now.Sub(lease.Spec.RenewTime.Time) > time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
			continue
		}
		server := lease.Annotations["holdfast.dev/endpoint"]
		byDigest[digest] = append(byDigest[digest], server)
		if wrong := lease.Annotations[policies.WrongAnnotation]; wrong != "" {
			found = append(found, wrongFile("server "+server, wrong))
		}
	}
	if len(byDigest) < 2 {
		return found
	}
	var groups []string
	for digest, servers := range byDigest {
		slices.Sort(servers)
		groups = append(groups, fmt.Sprintf("%s: %s", strings.Join(servers, ", "), digest))
	}
	slices.Sort(groups)
	return append(found, check{
		"rules", warning, "the servers have different files of --rules-dir, and each enforces its own (digests: " + strings.Join(groups, "; ") + ")",
		"give all servers the same files; a change is taken within ten seconds",
	})
}

func wrongFile(server, problem string) check {
	return check{
		"rules", warning, fmt.Sprintf("a file of --rules-dir of %s is wrong, and the last policies of the files stay in force: %s", server, problem),
		"correct the file: the server would not start again with it",
	}
}
