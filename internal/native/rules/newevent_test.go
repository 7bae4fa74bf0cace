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
	cases := map[string]struct {
		event string
		want  []string
	}{
		"complete": {
			event: `{eventTime: "2026-01-02T03:04:05.000000Z", reportingComponent: a.b/c, reportingInstance: i, action: a, reason: r, type: Normal}`,
		},
		"empty": {event: `{}`, want: []string{
			"eventTime: Required value",
			"reportingController: Required value",
			`reportingController: Invalid value: "": name part must be non-empty`,
			`reportingController: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
				`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			"reportingInstance: Required value", "action: Required value", "reason: Required value",
			`type: Invalid value: "": has invalid value: `,
		}},
		"too long": {
			event: `{eventTime: "2026-01-02T03:04:05.000000Z", reportingComponent: c, reportingInstance: i, action: ` + strings.Repeat("a", 129) +
				`, reason: r, type: Warning, message: ` + strings.Repeat("m", 1025) + `}`,
			want: []string{"action: Too long: may not be more than 128 bytes", "message: Too long: may not be more than 1024 bytes"},
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
