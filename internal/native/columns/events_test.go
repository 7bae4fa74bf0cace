package columns_test

import "testing"

func TestEvents(t *testing.T) {
	rows{
		"core group": {
			object: `
apiVersion: v1
kind: Event
metadata: {name: a.1}
type: Warning
reason: BackOff
message: " it fails\n"
involvedObject: {kind: Pod, name: web, fieldPath: "spec.containers{a}"}
source: {component: kubelet, host: node-1}
firstTimestamp: "2026-01-02T00:00:00Z"
lastTimestamp: "2026-01-02T00:09:00Z"
count: 4
`,
			want: `
Last Seen: 60s
Type: Warning
Reason: BackOff
Object: pod/web
Subobject*: spec.containers{a}
Source*: kubelet, node-1
Message: it fails
First Seen*: 10m
Count*: 4
Name*: a.1`,
		},
		"with eventTime only": {
			object: `
apiVersion: v1
kind: Event
metadata: {name: a.1}
involvedObject: {kind: Node}
eventTime: "2026-01-02T00:00:00.000000Z"
reportingComponent: c
`,
			want: `
Last Seen: 10m
Type:
Reason:
Object: node
Subobject*:
Source*: c
Message:
First Seen*: 10m
Count*: 1
Name*: a.1`,
		},
		"events.k8s.io with a series": {
			object: `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a.1}
type: Normal
reason: Seen
note: seen again
regarding: {kind: Pod, name: web}
eventTime: "2026-01-02T00:00:00.000000Z"
reportingController: c
reportingInstance: c-1
series: {count: 7, lastObservedTime: "2026-01-02T00:09:30.000000Z"}
`,
			want: `
Last Seen: 30s
Type: Normal
Reason: Seen
Object: pod/web
Subobject*:
Source*: c, c-1
Message: seen again
First Seen*: 10m
Count*: 7
Name*: a.1`,
		},
		"events.k8s.io with deprecated fields": {
			object: `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a.1}
type: Normal
reason: Seen
note: seen
regarding: {kind: Pod, name: web}
eventTime: null
deprecatedSource: {component: c}
deprecatedFirstTimestamp: "2026-01-02T00:00:00Z"
deprecatedLastTimestamp: "2026-01-02T00:09:00Z"
deprecatedCount: 2
`,
			want: `
Last Seen: 60s
Type: Normal
Reason: Seen
Object: pod/web
Subobject*:
Source*: c
Message: seen
First Seen*: 10m
Count*: 2
Name*: a.1`,
		},
	}.run(t)
}
