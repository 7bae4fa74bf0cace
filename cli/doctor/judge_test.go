package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/etcd"
)

// TestJudge checks the bounds of the checks that depend on time, space and figures.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 500e6, time.UTC)
	second := now.Truncate(time.Second)
	const day = 24 * time.Hour
	ends := func(left time.Duration) []check {
		return certificates([]apiserver.Certificate{{File: "ca.crt", NotAfter: now.Add(left)}}, now)
	}
	begins := func(left time.Duration) []check {
		return certificates([]apiserver.Certificate{{File: "ca.crt", NotBefore: now.Add(left), NotAfter: now.Add(365 * day)}}, now)
	}
	space := func(free, total uint64) []check { return disk(apiserver.Disk{FreeBytes: free, TotalBytes: total}) }
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
		if name == "webhooks" {
			return webhooks(families)
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
		"certificate begins later": {begins(time.Hour), []state{failure}},
		"certificate is damaged":   {certificates([]apiserver.Certificate{{Error: "x"}}, now), []state{failure}},
		"disk with space":          {space(50<<30, 100<<30), []state{good}},
		"large disk, 11 GiB left":  {space(11<<30, 1000<<30), []state{good}},
		"small disk, half of it":   {space(1<<20, 2<<20), []state{good}},
		"disk is nearly full":      {space(5<<30, 100<<30), []state{warning}},
		"disk is full":             {space(0, 100<<30), []state{failure}},
		"disk is slow":             {disk(apiserver.Disk{FreeBytes: 50 << 30, TotalBytes: 100 << 30, SyncSeconds: 0.2}), []state{warning}},
		"disk is full and slow":    {disk(apiserver.Disk{TotalBytes: 100 << 30, SyncSeconds: 0.2}), []state{failure, warning}},
		"disk is read-only":        {disk(apiserver.Disk{FreeBytes: 50 << 30, TotalBytes: 100 << 30, Error: "read-only"}), []state{failure}},
		"two members":              {with(func(*etcd.MemberStatus) {}), []state{good}},
		"one member is away":       {with(func(m *etcd.MemberStatus) { *m = etcd.MemberStatus{Error: "away"} }), []state{failure}},
		"one member has no leader": {with(func(m *etcd.MemberStatus) { m.HasLeader = false }), []state{failure}},
		"database is nearly full":  {with(func(m *etcd.MemberStatus) { m.SizeBytes = 81 << 20 }), []state{warning}},
		"database is full": {
			with(func(m *etcd.MemberStatus) { m.SizeBytes, m.Alarms = 100<<20, []string{"NOSPACE"} }), []state{warning, failure},
		},
		"fast requests":    {served("requests", histogram("GET", "995")), []state{good}},
		"slow requests":    {served("requests", histogram("GET", "980")), []state{warning}},
		"watches are long": {served("requests", histogram("WATCH", "0")), []state{good}},
		"webhooks answer": {
			served("webhooks", rejections+`apiserver_admission_webhook_rejection_count{name="a",error_type="no_error"} 3`+"\n"), []state{good},
		},
		"a webhook does not answer": {
			served("webhooks", rejections+`apiserver_admission_webhook_rejection_count{name="a",error_type="calling_webhook_error"} 3`+"\n"),
			[]state{warning},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var states []state
			for _, c := range test.got {
				states = append(states, c.State)
				if (c.State == good) != (c.Next == "") {
					t.Errorf("%q is %s, next: %q", c.Message, c.State, c.Next)
				}
			}
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}
