package defaults_test

import "testing"

func TestFlowControl(t *testing.T) {
	manifests{
		"FlowSchema": {
			in: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, spec: {priorityLevelConfiguration: {name: a}}}`,
			want: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, ` +
				`spec: {priorityLevelConfiguration: {name: a}, matchingPrecedence: 1000}}`,
		},
		"limited level": {
			in: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}}`,
			want: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 30
    lendablePercent: 0
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 50}}`,
		},
		"limited level with everything set": {
			in: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 0
    lendablePercent: 50
    limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}`,
			want: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 0
    lendablePercent: 50
    limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}`,
		},
		"exempt level": {
			in: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Exempt, exempt: {}}}`,
			want: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Exempt, ` +
				`exempt: {nominalConcurrencyShares: 0, lendablePercent: 0}}}`,
		},
	}.run(t)
}
