package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
)

// TestJudge checks the bounds of the checks that depend on time, space and figures.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 500e6, time.UTC)
	second := now.Truncate(time.Second)
	const day = 24 * time.Hour
	ends := func(left time.Duration) []check {
		return certificates([]maintenance.Certificate{{File: "ca.crt", NotAfter: now.Add(left)}}, now)
	}
	short := func(left time.Duration) []check {
		file := maintenance.Certificate{File: "a.crt", NotBefore: now.Add(left - day), NotAfter: now.Add(left)}
		return certificates([]maintenance.Certificate{file}, now)
	}
	begins := func(left time.Duration) []check {
		return certificates([]maintenance.Certificate{{File: "ca.crt", NotBefore: now.Add(left), NotAfter: now.Add(365 * day)}}, now)
	}
	space := func(free, total uint64) []check { return disk(maintenance.Disk{FreeBytes: free, TotalBytes: total}) }
	member := etcd.MemberStatus{HasLeader: true, SizeBytes: 1 << 20, QuotaBytes: 100 << 20}
	with := func(change func(*etcd.MemberStatus)) []check {
		changed := member
		change(&changed)
		return database([]etcd.MemberStatus{member, changed})
	}
	served := func(name, text string) []check {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if name == "caches" {
			return caches(families)
		}
		if name == "webhooks" {
			return webhooks(families, map[string]bool{"a": true})
		}
		return slowRequests(families["apiserver_request_duration_seconds"])
	}
	const rejections = "# TYPE apiserver_admission_webhook_rejection_count counter\n"
	histogram := func(verb, fast string) string {
		labels := `verb="` + verb + `",resource="pods"`
		return "# TYPE apiserver_request_duration_seconds histogram\n" +
			`apiserver_request_duration_seconds_bucket{` + labels + `,le="1"} ` + fast + "\n" +
			`apiserver_request_duration_seconds_bucket{` + labels + `,le="+Inf"} 1000` + "\n" +
			`apiserver_request_duration_seconds_count{` + labels + "} 1000\n"
	}
	audited := func(differences string) string {
		const metric = "holdfast_cache_audit_"
		return "# TYPE " + metric + "duration_seconds gauge\n" + metric + "duration_seconds 2\n" +
			"# TYPE " + metric + "entries_total counter\n" + metric + `entries_total{cache="watch",result="same"} 40` + "\n" +
			"# TYPE " + metric + "differences_total counter\n" + metric + `differences_total{cache="trees"} ` + differences + "\n" +
			metric + `differences_total{cache="watch"} 0` + "\n"
	}
	webhook := func(name string, all, fast int) string {
		const metric = "apiserver_admission_webhook_admission_duration_seconds"
		return fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket{name=%[2]q,le=\"1\"} %[4]d\n%[1]s_bucket{name=%[2]q,le=\"+Inf\"} %[3]d\n"+
			"%[1]s_count{name=%[2]q} %[3]d\n", metric, name, all, fast)
	}
	node := func(ready corev1.ConditionStatus, renewed time.Duration, valid *int32) []check {
		nodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}, {ObjectMeta: metav1.ObjectMeta{Name: "one"}}}
		nodes[1].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
		lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = ptr.To(metav1.NewMicroTime(now.Add(renewed))), valid
		return reporting(nodes, []coordinationv1.Lease{lease}, now)
	}
	deleted := func(renewed time.Duration) []coordinationv1.Lease {
		return []coordinationv1.Lease{{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now.Add(renewed)}},
		}}
	}
	tests := map[string]struct {
		got  []check
		want []state
	}{
		"same clock":               {[]check{clock(second, now, now)}, []state{good}},
		"clock behind":             {[]check{clock(second.Add(-7*time.Second), now, now)}, []state{warning}},
		"clock ahead":              {[]check{clock(second.Add(7*time.Second), now, now)}, []state{warning}},
		"slow answer":              {[]check{clock(second.Add(-7*time.Second), now.Add(-8*time.Second), now)}, []state{good}},
		"certificate for a year":   {ends(365 * day), []state{good}},
		"certificate for 29 days":  {ends(29 * day), []state{warning}},
		"certificate has ended":    {ends(-time.Hour), []state{failure}},
		"certificate of a day":     {short(20 * time.Hour), []state{good}},
		"a day is nearly over":     {short(3 * time.Hour), []state{warning}},
		"certificate begins later": {begins(time.Hour), []state{failure}},
		"certificate is damaged":   {certificates([]maintenance.Certificate{{Error: "x"}}, now), []state{failure}},
		"disk with space":          {space(50<<30, 100<<30), []state{good}},
		"large disk, 11 GiB left":  {space(11<<30, 1000<<30), []state{good}},
		"small disk, half of it":   {space(1<<20, 2<<20), []state{good}},
		"disk is nearly full":      {space(5<<30, 100<<30), []state{warning}},
		"disk is full":             {space(0, 100<<30), []state{failure}},
		"disk is slow":             {disk(maintenance.Disk{FreeBytes: 50 << 30, TotalBytes: 100 << 30, SyncSeconds: 0.2}), []state{warning}},
		"disk hangs":               {disk(maintenance.Disk{TotalBytes: 1 << 20, FreeBytes: 1 << 20, SyncSeconds: 3, Hangs: true}), []state{failure}},
		"disk is full and slow":    {disk(maintenance.Disk{TotalBytes: 100 << 30, SyncSeconds: 0.2}), []state{failure, warning}},
		"disk is read-only":        {disk(maintenance.Disk{FreeBytes: 50 << 30, TotalBytes: 100 << 30, Error: "read-only"}), []state{failure}},
		"two members":              {with(func(*etcd.MemberStatus) {}), []state{good}},
		"one member is away":       {with(func(m *etcd.MemberStatus) { *m = etcd.MemberStatus{Error: "away"} }), []state{failure}},
		"one member has no leader": {with(func(m *etcd.MemberStatus) { m.HasLeader = false }), []state{failure}},
		"database is nearly full":  {with(func(m *etcd.MemberStatus) { m.SizeBytes = 81 << 20 }), []state{warning}},
		"database is full": {
			with(func(m *etcd.MemberStatus) { m.SizeBytes, m.Alarms = 100<<20, []string{"NOSPACE"} }), []state{warning, failure},
		},
		"the file of a server's own database is large": {
			with(func(m *etcd.MemberStatus) { m.Endpoint, m.SizeBytes = etcd.InProcess, 81<<20 }), []state{good},
		},
		"a server's own database is nearly full": {
			with(func(m *etcd.MemberStatus) { m.Endpoint, m.SizeBytes, m.UsedBytes = etcd.InProcess, 81<<20, 81<<20 }), []state{warning},
		},
		"a server's own database is full": {
			with(func(m *etcd.MemberStatus) { m.Endpoint, m.Alarms = etcd.InProcess, []string{"NOSPACE"} }), []state{failure},
		},
		"a damaged database":        {with(func(m *etcd.MemberStatus) { m.Alarms = []string{"CORRUPT"} }), []state{failure}},
		"a node reports":            {node(corev1.ConditionTrue, -30*time.Second, ptr.To[int32](40)), []state{good}},
		"a node is not ready":       {node(corev1.ConditionUnknown, -time.Hour, ptr.To[int32](40)), []state{warning}},
		"an agent is stopped":       {node(corev1.ConditionTrue, -41*time.Second, ptr.To[int32](40)), []state{warning}},
		"a Lease is valid for long": {node(corev1.ConditionTrue, -41*time.Second, ptr.To[int32](60)), []state{good}},
		"a Lease without duration":  {node(corev1.ConditionTrue, -41*time.Second, nil), []state{warning}},
		"a node was deleted":        {reporting(nil, deleted(-30*time.Second), now), []state{warning}},
		"a node was deleted before": {reporting(nil, deleted(-time.Hour), now), []state{good}},
		"a node is ahead":           {node(corev1.ConditionTrue, time.Hour, ptr.To[int32](40)), []state{warning}},
		"no audits":                 {served("caches", ""), []state{skipped}},
		"right caches":              {served("caches", audited("0")), []state{good}},
		"a wrong cache":             {served("caches", audited("3")), []state{failure}},
		"fast requests":             {served("requests", histogram("GET", "995")), []state{good}},
		"slow requests":             {served("requests", histogram("GET", "980")), []state{warning}},
		"watches are long":          {served("requests", histogram("WATCH", "0")), []state{good}},
		"webhooks answer": {
			served("webhooks", rejections+`apiserver_admission_webhook_rejection_count{name="a",error_type="no_error"} 3`+"\n"), []state{good},
		},
		"a webhook does not answer": {
			served("webhooks", rejections+`apiserver_admission_webhook_rejection_count{name="a",error_type="calling_webhook_error"} 3`+"\n"),
			[]state{warning},
		},
		"a webhook that was deleted did not answer": {
			served("webhooks", rejections+`apiserver_admission_webhook_rejection_count{name="b",error_type="calling_webhook_error"} 3`+"\n"),
			[]state{good},
		},
		"a webhook is slow":           {served("webhooks", webhook("a", 20, 18)), []state{warning}},
		"a webhook is slow sometimes": {served("webhooks", webhook("a", 100, 98)), []state{good}},
		"few calls of a webhook":      {served("webhooks", webhook("a", 3, 0)), []state{good}},
		"a deleted webhook was slow":  {served("webhooks", webhook("b", 20, 0)), []state{good}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var states []state
			for _, c := range test.got {
				states = append(states, c.State)
				if (c.State == good || c.State == skipped) != (c.Next == "") {
					t.Errorf("%q is %s, next: %q", c.Message, c.State, c.Next)
				}
			}
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}
