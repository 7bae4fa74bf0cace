package columns_test

import "testing"

func TestFlowControl(t *testing.T) {
	rows{
		"FlowSchema": {
			object: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {priorityLevelConfiguration: {name: b}, matchingPrecedence: 7, distinguisherMethod: {type: ByUser}}
status: {conditions: [{type: Dangling, status: "False"}]}`,
			want: `
Name: a
PriorityLevel: b
MatchingPrecedence: 7
DistinguisherMethod: ByUser
Age: 10m
MissingPL: False`,
		},
		"FlowSchema without status": {
			object: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: a}, ` +
				`spec: {priorityLevelConfiguration: {name: b}, matchingPrecedence: 7}}`,
			want: `
Name: a
PriorityLevel: b
MatchingPrecedence: 7
DistinguisherMethod: <none>
Age: <unknown>
MissingPL: ?`,
		},
		"level with queues": {
			object: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: a}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 50}}}`,
			want: `
Name: a
Type: Limited
NominalConcurrencyShares: 5
Queues: 64
HandSize: 8
QueueLengthLimit: 50
Age: <unknown>`,
		},
		"exempt level": {
			object: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, ` +
				`metadata: {name: exempt}, spec: {type: Exempt, exempt: {}}}`,
			want: `
Name: exempt
Type: Exempt
NominalConcurrencyShares: <none>
Queues: <none>
HandSize: <none>
QueueLengthLimit: <none>
Age: <unknown>`,
		},
	}.run(t)
}
