package rules_test

import (
	"strings"
	"testing"
)

const mismatch = "`selector` does not match template `labels`"

func TestWorkloads(t *testing.T) {
	for kind, rows := range map[string]edits{
		"Deployment": {
			"selector missing": {"spec/selector =", `
				spec.selector: Required value
				spec.template.metadata.labels: Invalid value: {"app":"web","tier":"front"}: ` + mismatch},
			"selector empty": {"spec/selector = {}", `spec.selector: Invalid value: {}: empty selector is invalid for deployment`},
			"selector does not match": {
				"spec/template/metadata/labels = {app: other}",
				`spec.template.metadata.labels: Invalid value: {"app":"other"}: ` + mismatch,
			},
			"selector operator": {
				"spec/selector/matchExpressions/0/operator = X", `
				spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator
				spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"X","values":["db"]}]}: invalid label selector
			`,
			},
			"selector without key": {"spec/selector/matchExpressions/0 = {key: '', operator: ''}", `
				spec.selector.matchExpressions[0].operator: Invalid value: "": not a valid selector operator
				spec.selector.matchExpressions[0].key: Invalid value: "": name part must be non-empty
				spec.selector.matchExpressions[0].key: Invalid value: "": ` + qualified + `
				spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":[{"key":"","operator":""}]}: invalid label selector
			`},
			"counts": {"spec/replicas = -1\nspec/minReadySeconds = -1\nspec/revisionHistoryLimit = -1", `
				spec.replicas: Invalid value: -1: must be greater than or equal to 0
				spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
				spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`},
			"deadline": {
				"spec/progressDeadlineSeconds = 10",
				`spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds`,
			},
			"deadline below 0": {"spec/progressDeadlineSeconds = -1", `
				spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0
				spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds`},
			"strategy": {"spec/strategy = {type: X}", `spec.strategy: Unsupported value: {"type":"X"}: supported values: "Recreate", "RollingUpdate"`},
			"recreate": {
				"spec/strategy/type = Recreate",
				"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
			},
			"both zero": {
				"spec/strategy/rollingUpdate = {maxSurge: 0, maxUnavailable: 0%}",
				"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
			},
			"percentage above 100": {
				"spec/strategy/rollingUpdate/maxUnavailable = 101%",
				`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`,
			},
			"no percent": {
				"spec/strategy/rollingUpdate/maxSurge = some", "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"some\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')\n" +
					"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
			},
			"below zero": {
				"spec/strategy/rollingUpdate/maxSurge = -1",
				`spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0`,
			},
			"restart policy": {
				"spec/template/spec/restartPolicy = Never",
				`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
			},
			"template deadline": {
				"spec/template/spec/activeDeadlineSeconds = 5",
				`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported`,
			},
			"template metadata": {"spec/template/metadata/labels/x = '-'\nspec/template/metadata/annotations = {-a: b}", `
				spec.template.labels: Invalid value: "-": ` + labelValue + `
				spec.template.annotations: Invalid value: "-a": ` + qualified},
			"ephemeral containers": {
				"spec/template/spec/ephemeralContainers = [{name: a, image: a}]",
				`spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`,
			},
			"container": {"spec/template/spec/containers/0/image =", `spec.template.spec.containers[0].image: Required value`},
			"all at once": {"spec/replicas = -1\n" +
				"spec/template/spec/containers/0/name = A\n" +
				"spec/template/spec/containers/0/ports/0/containerPort = 0", `
				spec.replicas: Invalid value: -1: must be greater than or equal to 0
				spec.template.spec.containers[0].name: Invalid value: "A": ` + label + `
				spec.template.spec.containers[0].ports[0].containerPort: Required value`},
		},
		"ReplicaSet": {
			"selector empty": {"spec/selector = {}", `spec.selector: Invalid value: {}: empty selector is invalid for deployment`},
			"selector":       {"spec/template/metadata/labels = {a: b}", `spec.template.metadata.labels: Invalid value: {"a":"b"}: ` + mismatch},
			"counts": {"spec/replicas = -1\nspec/minReadySeconds = -1", `
				spec.replicas: Invalid value: -1: must be greater than or equal to 0
				spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`},
			"restart policy": {
				"spec/template/spec/restartPolicy = OnFailure",
				`spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"`,
			},
		},
		"StatefulSet": {
			"selector empty": {"spec/selector = {}", `spec.selector: Invalid value: {}: empty selector is invalid for statefulset`},
			"selector":       {"spec/template/metadata/labels = {a: b}", `spec.template.metadata.labels: Invalid value: {"a":"b"}: ` + mismatch},
			"counts": {"spec/replicas = -1\nspec/minReadySeconds = -1\nspec/revisionHistoryLimit = -1\nspec/ordinals/start = -1", `
				spec.replicas: Invalid value: -1: must be greater than or equal to 0
				spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
				spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0
			`},
			"pod management": {
				"spec/podManagementPolicy = X", `spec.podManagementPolicy: Invalid value: "X": must be 'OrderedReady' or 'Parallel'`,
			},
			"partition": {
				"spec/updateStrategy/rollingUpdate/partition = -1",
				`spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0`,
			},
			"unavailable": {
				"spec/updateStrategy/rollingUpdate/maxUnavailable = 0",
				`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0`,
			},
			"on delete": {
				"spec/updateStrategy/type = OnDelete",
				`spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed for updateStrategy 'RollingUpdate'`,
			},
			"retention": {"spec/persistentVolumeClaimRetentionPolicy = {whenDeleted: A, whenScaled: B}", `
				spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "A": supported values: "Delete", "Retain"
				spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "B": supported values: "Delete", "Retain"`},
			"restart policy": {
				"spec/template/spec/restartPolicy = Never",
				`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
			},
		},
		"DaemonSet": {
			"selector empty": {"spec/selector = {}", `spec.selector: Invalid value: {}: empty selector is invalid for daemonset`},
			"selector":       {"spec/template/metadata/labels = {a: b}", `spec.template.metadata.labels: Invalid value: {"a":"b"}: ` + mismatch},
			"counts": {"spec/minReadySeconds = -1\nspec/revisionHistoryLimit = -1", `
				spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
				spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`},
			"surge and unavailable": {
				"spec/updateStrategy = {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}",
				`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`,
			},
			"both zero": {
				"spec/updateStrategy = {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}",
				`spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
			},
			"strategy": {
				"spec/updateStrategy/type = X", `spec.updateStrategy: Unsupported value: {"type":"X"}: supported values: "OnDelete", "RollingUpdate"`,
			},
			"restart policy": {
				"spec/template/spec/restartPolicy = Never",
				`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
			},
			"host network": {
				"spec/template/spec/containers/0/ports/0/hostPort = 9101", "spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 9101: must match `containerPort` when `hostNetwork` is true",
			},
		},
		"ReplicationController": {
			"template missing": {"spec/template =", `spec.template: Required value`},
			"selector missing": {"spec/selector =\nspec/template/metadata/labels =", `spec.selector: Required value`},
			"selector":         {"spec/template/metadata/labels = {a: b}", `spec.template.metadata.labels: Invalid value: {"a":"b"}: ` + mismatch},
			"counts": {"spec/replicas = -1\nspec/minReadySeconds = -1", `
				spec.replicas: Invalid value: -1: must be greater than or equal to 0
				spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`},
			"selector syntax": {"metadata/labels = {a: b}\nspec/selector = {a: '-'}\nspec/template/metadata/labels = {a: '-'}", `spec.template.labels: Invalid value: "-": ` + labelValue},
		},
		"PodTemplate": {"container": {"template/spec/containers/0/image =", `template.spec.containers[0].image: Required value`}},
		"ControllerRevision": {
			"revision": {"revision = -1", `revision: Invalid value: -1: must be greater than or equal to 0`},
			"data":     {"data =", `data: Required value: data is mandatory`},
		},
	} {
		rows.run(t, kind)
	}
}

func TestJobs(t *testing.T) {
	const negative = "must be greater than or equal to 0"
	const labels = `{"batch.kubernetes.io/controller-uid":"u-1","batch.kubernetes.io/job-name":"import","controller-uid":"u-1","job-name":"import"}`
	long := strings.Repeat("a", 62)
	edits{
		"counts": {"spec/parallelism = -1\n" +
			"spec/completions = -1\n" +
			"spec/activeDeadlineSeconds = -1\n" +
			"spec/backoffLimit = -1\n" +
			"spec/backoffLimitPerIndex = -1\n" +
			"spec/maxFailedIndexes = -1\n" +
			"spec/ttlSecondsAfterFinished = -1", `
			spec.parallelism: Invalid value: -1: ` + negative + `
			spec.completions: Invalid value: -1: ` + negative + `
			spec.activeDeadlineSeconds: Invalid value: -1: ` + negative + `
			spec.backoffLimit: Invalid value: -1: ` + negative + `
			spec.backoffLimitPerIndex: Invalid value: -1: ` + negative + `
			spec.maxFailedIndexes: Invalid value: -1: ` + negative + `
			spec.ttlSecondsAfterFinished: Invalid value: -1: ` + negative},
		"restart policy": {
			"spec/template/spec/restartPolicy = Always\nspec/podFailurePolicy =",
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
		},
		"failure policy and restarts": {
			"spec/template/spec/restartPolicy = OnFailure",
			`spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`,
		},
		"too many rules": {
			"spec/podFailurePolicy/rules = [" + strings.Repeat("{action: Ignore, onExitCodes: {operator: In, values: [1]}},", 21) + "]",
			`spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items`,
		},
		"failure action": {
			"spec/podFailurePolicy/rules/0/action = X",
			`spec.podFailurePolicy.rules[0].action: Unsupported value: "X": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
		},
		"failure by both": {
			"spec/podFailurePolicy/rules/0/onPodConditions = [{type: a}]",
			`spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported`,
		},
		"failure by none": {
			"spec/podFailurePolicy/rules/0/onExitCodes =",
			`spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
		},
		"fail index": {
			"spec/backoffLimitPerIndex =", `
			spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set
			spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified
		`,
		},
		"replacement": {
			"spec/podReplacementPolicy = TerminatingOrFailed",
			`spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`,
		},
		"indexed": {"spec/completions =", `spec.completions: Required value: when completion mode is Indexed`},
		"many parallel pods": {
			"spec/parallelism = 100001",
			`spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed`,
		},
		"not indexed": {"spec/completionMode = NonIndexed\nspec/successPolicy = {rules: [{succeededCount: 1}]}", `
			spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode
			spec.maxFailedIndexes: Invalid value: 2: requires indexed completion mode
			spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode`},
		"mode": {
			"spec/completionMode = X\nspec/backoffLimitPerIndex =\nspec/maxFailedIndexes =\nspec/podFailurePolicy =",
			`spec.completionMode: Unsupported value: "X": supported values: "Indexed", "NonIndexed"`,
		},
		"name and index": {
			"metadata/name = " + long + "\nspec/manualSelector = true",
			`metadata.name: Invalid value: "` + long + `": will not able to create pod with invalid DNS label: ` + long + `-4`,
		},
		"label of another job": {"metadata/name = other", `
			spec.template.metadata.labels[batch.kubernetes.io/job-name]: Invalid value: ` + labels + `: must be 'other'
			spec.template.metadata.labels[job-name]: Invalid value: ` + labels + `: must be 'other'`},
		"selector of the client": {
			"spec/selector/matchLabels = {job-name: import}\nspec/template/metadata/labels/controller-uid =",
			`spec.template.metadata.labels[controller-uid]: Required value: must be 'u-1'`,
		},
		"manual selector": {"spec/manualSelector = true\nspec/selector =\nspec/template/metadata =", `
			spec.selector: Required value
			spec.template.metadata.labels: Invalid value: null: ` + mismatch},
		"manual selector does not match": {
			"spec/manualSelector = true\nspec/selector = {matchLabels: {a: b}}\nspec/template/metadata =",
			`spec.template.metadata.labels: Invalid value: null: ` + mismatch,
		},
	}.run(t, "Job")
}

func TestCronJobs(t *testing.T) {
	edits{
		"schedule missing": {"spec/schedule =", `spec.schedule: Required value`},
		"too few fields":   {"spec/schedule = 0 0 *", `spec.schedule: Invalid value: "0 0 *": expected exactly 5 fields, found 3: [0 0 *]`},
		"above maximum": {
			"spec/schedule = '60 * * * *'",
			`spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`,
		},
		"below minimum": {
			"spec/schedule = '0 0 0 * *'",
			`spec.schedule: Invalid value: "0 0 0 * *": beginning of range (0) below minimum (1): 0`,
		},
		"range backwards": {
			"spec/schedule = '0 0 * * fri-mon'",
			`spec.schedule: Invalid value: "0 0 * * fri-mon": beginning of range (5) beyond end of range (1): fri-mon`,
		},
		"step": {
			"spec/schedule = '*/0 * * * *'",
			`spec.schedule: Invalid value: "*/0 * * * *": step of range should be a positive number: */0`,
		},
		"no number": {
			"spec/schedule = 'a * * * *'",
			`spec.schedule: Invalid value: "a * * * *": failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax`,
		},
		"negative": {
			"spec/schedule = '*/-1 * * * *'",
			`spec.schedule: Invalid value: "*/-1 * * * *": negative number (-1) not allowed: -1`,
		},
		"hyphens": {"spec/schedule = '1-2-3 * * * *'", `spec.schedule: Invalid value: "1-2-3 * * * *": too many hyphens: 1-2-3`},
		"slashes": {"spec/schedule = '*/1/2 * * * *'", `spec.schedule: Invalid value: "*/1/2 * * * *": too many slashes: */1/2`},
		"descriptor": {
			"spec/schedule = '@fortnightly'",
			`spec.schedule: Invalid value: "@fortnightly": unrecognized descriptor: @fortnightly`,
		},
		"duration": {
			"spec/schedule = '@every day'",
			`spec.schedule: Invalid value: "@every day": failed to parse duration @every day: time: invalid duration "day"`,
		},
		"@daily": {"spec/schedule = '@daily'", ``},
		"@every": {"spec/schedule = '@every 1h30m'", ``},
		"zone in schedule": {
			"spec/schedule = TZ=UTC 0 * * * *\nspec/timeZone =",
			`spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`,
		},
		"zone twice": {
			"spec/schedule = CRON_TZ=UTC 0 * * * *", `
			spec.schedule: Invalid value: "CRON_TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead
		`,
		},
		"zone":       {"spec/timeZone = Nowhere/Town", `spec.timeZone: Invalid value: "Nowhere/Town": unknown time zone Nowhere/Town`},
		"zone empty": {"spec/timeZone = ''", `spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string`},
		"zone local": {
			"spec/timeZone = Local",
			`spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones`,
		},
		"counts": {"spec/startingDeadlineSeconds = -1\nspec/successfulJobsHistoryLimit = -1\nspec/failedJobsHistoryLimit = -1", `
			spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0
			spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0
			spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0`},
		"concurrency": {
			"spec/concurrencyPolicy = X",
			`spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"`,
		},
		"restart policy": {
			"spec/jobTemplate/spec/template/spec/restartPolicy =",
			`spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
		},
		"selector": {"spec/jobTemplate/spec/selector = {matchLabels: {a: b}}\n" +
			"spec/jobTemplate/spec/manualSelector = true\n" +
			"spec/jobTemplate/spec/template/metadata = {labels: {a: b}}", `
			spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: ` + "`selector` will be auto-generated" + `
			spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"`},
	}.run(t, "CronJob")
}
