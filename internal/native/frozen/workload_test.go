package frozen_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
)

// TestWorkloads checks updates of workloads, see checkUpdates.
func TestWorkloads(t *testing.T) {
	checkUpdates(t, map[string]update{
		"deployment selector": {
			kind: &appsv1.Deployment{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {selector: {matchLabels: {a: c}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		},
		"deployment replicas and template": {
			kind: &appsv1.Deployment{},
			old:  `{spec: {replicas: 1, template: {metadata: {labels: {a: b}}}}}`,
			new:  `{spec: {replicas: 2, template: {metadata: {labels: {a: c}}}}}`,
		},
		"replica set selector": {
			kind: &appsv1.ReplicaSet{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {selector: {matchLabels: {a: b, c: d}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		},
		"daemon set selector": {
			kind: &appsv1.DaemonSet{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {}}`,
			want: []string{`spec.selector: Invalid value: null: field is immutable`},
		},
		"stateful set": {
			kind: &appsv1.StatefulSet{},
			old: `{spec: {replicas: 1, serviceName: a, podManagementPolicy: Parallel, selector: {matchLabels: {a: b}}, ` +
				`volumeClaimTemplates: [{metadata: {name: d}}]}}`,
			new: `{spec: {replicas: 2, serviceName: b, podManagementPolicy: OrderedReady, ` +
				`selector: {matchLabels: {a: c}}, volumeClaimTemplates: [{metadata: {name: e}}]}}`,
			want: []string{
				`spec.podManagementPolicy: Invalid value: "OrderedReady": field is immutable`,
				`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`,
				`spec.serviceName: Invalid value: "b": field is immutable`,
				`spec.volumeClaimTemplates: Invalid value: [{"metadata":{"name":"e"},"spec":{"resources":{}},"status":{}}]: field is immutable`,
			},
		},
		"controller revision data": {
			kind: &appsv1.ControllerRevision{},
			old:  `{revision: 1, data: {a: 1}}`,
			new:  `{revision: 2, data: {a: 2}}`,
			want: []string{`data: Invalid value: {"a":2}: field is immutable`},
		},
		"job template": {
			kind: &batchv1.Job{},
			old:  `{spec: {template: {spec: {nodeSelector: {a: b}}}}}`,
			new:  `{spec: {template: {spec: {nodeSelector: {a: c}}}}}`,
			want: []string{`spec.template.spec.nodeSelector: Invalid value: {"a":"c"}: field is immutable`},
		},
		"job template while suspended": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, template: {spec: {nodeSelector: {a: b}, containers: [{name: a}]}}}}`,
			new: `{spec: {suspend: false, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {a: c}, tolerations: [{key: a}],
				affinity: {nodeAffinity: {}}, containers: [{name: a, resources: {limits: {cpu: 1}}}]}}}}`,
		},
		"job template after a suspension": {
			kind: &batchv1.Job{},
			old: `{spec: {suspend: true, template: {spec: {nodeSelector: {a: b}}}},
				status: {startTime: "2026-01-02T03:04:05Z", conditions: [{type: Suspended, status: "True"}]}}`,
			new: `{spec: {suspend: true, template: {spec: {nodeSelector: {a: c}}}}}`,
		},
		"job template while pods of a suspended job run": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, template: {spec: {nodeSelector: {a: b}}}}, status: {active: 1}}`,
			new:  `{spec: {suspend: true, template: {spec: {nodeSelector: {a: c}}}}}`,
			want: []string{`spec.template.spec.nodeSelector: Invalid value: {"a":"c"}: field is immutable`},
		},
		"job image while suspended": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, template: {spec: {containers: [{name: a, image: one}]}}}}`,
			new:  `{spec: {suspend: true, template: {spec: {containers: [{name: a, image: two}]}}}}`,
			want: []string{`spec.template: Invalid value: {"metadata":{},"spec":{"containers":[{"image":"two","name":"a","resources":{}}]}}: field is immutable`},
		},
		"job selector stays while suspended": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {suspend: true, selector: {matchLabels: {a: c}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		},
		"job completions": {
			kind: &batchv1.Job{},
			old:  `{spec: {completions: 1, parallelism: 1}}`,
			new:  `{spec: {completions: 2, parallelism: 2}}`,
			want: []string{`spec.completions: Invalid value: 2: field is immutable`},
		},
		"indexed job scaled": {
			kind: &batchv1.Job{},
			old:  `{spec: {completions: 1, parallelism: 1, completionMode: Indexed}}`,
			new:  `{spec: {completions: 2, parallelism: 2, completionMode: Indexed}}`,
		},
	})
}
