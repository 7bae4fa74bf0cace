package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/native/rules"
)

const subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
	`and must start and end with an alphanumeric character (e.g. 'example.com', ` +
	`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

const label = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
	`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', ` +
	`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`

const label1035 = `a DNS-1035 label must consist of lower case alphanumeric characters or '-', ` +
	`start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', ` +
	`regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`

const qualified = `name part must consist of alphanumeric characters, '-', '_' or '.', ` +
	`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
	`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`

const labelValue = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ` +
	`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
	`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`

func TestNames(t *testing.T) {
	for kind, rows := range map[string]edits{
		"ConfigMap": {
			"subdomain":     {"metadata/name = A", `metadata.name: Invalid value: "A": ` + subdomain},
			"missing":       {"metadata/name =", `metadata.name: Required value: name or generateName is required`},
			"generate name": {"metadata/generateName = Web-", `metadata.generateName: Invalid value: "Web-": ` + subdomain},
			"namespace":     {"metadata/namespace = a.b", `metadata.namespace: Invalid value: "a.b": must not contain dots`},
			"labels in a fixed order": {"metadata/labels = {a/b/c: x, app: -, zoo: -}", `
				metadata.labels: Invalid value: "-": ` + labelValue + `
				metadata.labels: Invalid value: "-": ` + labelValue + `
				metadata.labels: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, \
					'-', '_' or '.', and must start and end with an alphanumeric character \
					(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
					'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional \
					DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`},
			"annotations too long": {
				"metadata/annotations/a = " + strings.Repeat("x", 256<<10),
				`metadata.annotations: Too long: may not be more than 262144 bytes`,
			},
		},
		"Namespace":           {"label": {"metadata/name = a.b", `metadata.name: Invalid value: "a.b": must not contain dots`}},
		"StatefulSet":         {"label": {"metadata/name = a.b", `metadata.name: Invalid value: "a.b": must not contain dots`}},
		"Service":             {"label": {"metadata/name = 1.a", `metadata.name: Invalid value: "1.a": must not contain dots`}, "digit": {"metadata/name = 1a", ""}},
		"ClusterRole":         {"path segment": {"metadata/name = a/b", `metadata.name: Invalid value: "a/b": may not contain '/'`}},
		"Role":                {"path segment": {"metadata/name = a%b", `metadata.name: Invalid value: "a%b": may not contain '%'`}},
		"PodDisruptionBudget": {"path segment": {"metadata/name = ..", `metadata.name: Invalid value: "..": may not be '..'`}},
		"CronJob": {
			"too long": {
				"metadata/name = " + strings.Repeat("a", 53),
				`metadata.name: Invalid value: "` + strings.Repeat("a", 53) + `": must be no more than 52 characters`,
			},
		},
		"IPAddress": {
			"no address": {
				"metadata/name = web",
				`metadata.name: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			},
		},
	} {
		rows.run(t, kind)
	}
}

func TestUpdate(t *testing.T) {
	rows := map[string]struct{ kind, old, new, want string }{
		"metadata": {"ConfigMap", "metadata/uid = a", "metadata/uid = b", `metadata.uid: Invalid value: "b": field is immutable`},
		"no resource version": {
			"ConfigMap", "", "metadata/resourceVersion =",
			`metadata.resourceVersion: Invalid value: "": must be specified for an update`,
		},
		"rules of create apply": {
			"Deployment", "", "spec/replicas = -1", `spec.replicas: Invalid value: -1: must be greater than or equal to 0`,
		},
		"invalid name of a stored object": {"StatefulSet", "metadata/name = a.b", "metadata/name = a.b", ""},
		"invalid labels have one error": {
			"ConfigMap", "", "metadata/labels = {a: -}", `metadata.labels: Invalid value: "-": ` + labelValue,
		},
		"ephemeral containers can be added": {"Pod", "", "spec/ephemeralContainers = [{name: debug, image: busybox}]", ""},
		"time zone in a stored schedule": {
			"CronJob", "spec/timeZone =\nspec/schedule = TZ=Europe/Berlin 0 * * * *",
			"spec/timeZone =\nspec/schedule = TZ=Europe/Berlin 0 * * * *", "",
		},
		"time zone without a schedule": {
			"CronJob", "spec/timeZone =", "spec/timeZone =\nspec/schedule = TZ=UTC",
			`
			spec.schedule: Invalid value: "TZ=UTC": cannot use TZ or CRON_TZ in schedule, use timeZone field instead
			spec.schedule: Invalid value: "TZ=UTC": expected exactly 5 fields, found 0: []`,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			stored := "metadata/resourceVersion = '1'\n"
			oldObj := defaulted(t, edit(t, valid[row.kind], stored+row.old))
			newObj := defaulted(t, edit(t, valid[row.kind], stored+row.new))
			if diff := cmp.Diff(lines(row.want), messages(rules.ValidateUpdate(newObj, oldObj))); diff != "" {
				t.Errorf("ValidateUpdate (-want +got):\n%s", diff)
			}
		})
	}
}
