package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/native/rules"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestValidateNewEvent(t *testing.T) {
	const object = `metadata: {name: e, namespace: default}, involvedObject: {namespace: default}`
	cases := map[string]struct {
		event string
		want  []string
	}{
		"complete": {
			event: `{` + object + `, eventTime: "2026-01-02T03:04:05.000000Z", reportingComponent: a.b/c, reportingInstance: i, action: a, reason: r, type: Normal}`,
		},
		"empty": {event: `{` + object + `}`, want: []string{"eventTime: Required value", `type: Invalid value: "": has invalid value: `}},
		"only a time": {event: `{` + object + `, eventTime: "2026-01-02T03:04:05.000000Z", type: Normal}`, want: []string{
			"reportingController: Required value", "reportingInstance: Required value", "action: Required value", "reason: Required value",
			`reportingController: Invalid value: "": name part must be non-empty`,
			`reportingController: Invalid value: "": ` + qualified,
		}},
		"too long": {
			event: `{` + object + `, eventTime: "2026-01-02T03:04:05.000000Z", reportingComponent: c, reportingInstance: i, action: ` +
				strings.Repeat("a", 129) + `, reason: r, type: Warning, message: ` + strings.Repeat("m", 1025) + `}`,
			want: []string{
				`action: Invalid value: "": can have at most 128 characters`, `message: Invalid value: "": can have at most 1024 characters`,
			},
		},
		"series": {
			event: `{` + object + `, eventTime: "2026-01-02T03:04:05.000000Z", reportingComponent: c, reportingInstance: i, action: a, reason: r, type: Normal, series: {count: 1}}`,
			want:  []string{`series.count: Invalid value: "": should be at least 2`, "series.lastObservedTime: Required value"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			event := yamltest.Decode[corev1.Event](t, c.event)
			var got []string
			for _, err := range rules.ValidateNewEvent(event) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
