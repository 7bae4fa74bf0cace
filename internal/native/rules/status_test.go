package rules_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/native/rules"
)

// certificateStatus returns the change that sets the certificate of a CertificateSigningRequest.
func certificateStatus(pem string) string {
	return "status = {certificate: " + base64.StdEncoding.EncodeToString([]byte(pem)) + "}"
}

func TestStatus(t *testing.T) {
	const negative = "must be greater than or equal to 0"
	terminated := "status/containerStatuses = [{name: web, image: web, imageID: x, ready: false, restartCount: 0, " +
		"state: {terminated: {exitCode: 0}}}]"
	running := "status/containerStatuses = [{name: web, image: web, imageID: x, ready: true, restartCount: 1, state: {running: {}}}]"
	rows := map[string]struct{ kind, old, new, want string }{
		"metadata":                {"Deployment", "", "metadata/labels = {a: '-'}", `metadata.labels: Invalid value: "-": ` + labelValue},
		"the spec is not checked": {"Deployment", "", "spec/replicas = -1", ``},
		"deployment": {"Deployment", "", "status = {observedGeneration: -1, replicas: -1, updatedReplicas: -1, " +
			"readyReplicas: -1, availableReplicas: -1, unavailableReplicas: -1, collisionCount: -1}", `
			status.observedGeneration: Invalid value: -1: ` + negative + `
			status.replicas: Invalid value: -1: ` + negative + `
			status.updatedReplicas: Invalid value: -1: ` + negative + `
			status.readyReplicas: Invalid value: -1: ` + negative + `
			status.availableReplicas: Invalid value: -1: ` + negative + `
			status.unavailableReplicas: Invalid value: -1: ` + negative + `
			status.collisionCount: Invalid value: -1: ` + negative},
		"deployment counts": {"Deployment", "", "status = {replicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3}", `
			status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas
			status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas
			status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas
			status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas`},
		"migration": {"StorageVersionMigration", "", "status = {resourceVersion: a, conditions: [{type: Running, status: x}]}", `
			status.resourceVersion: Invalid value: "a": resource version is not well formed: a
			status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"
			status.conditions[0].lastTransitionTime: Required value
			status.conditions[0].reason: Required value`},
		"migration starts elsewhere": {
			"StorageVersionMigration", "status = {resourceVersion: '1'}", "status = {resourceVersion: '2'}",
			`status.resourceVersion: Invalid value: "2": field is immutable`,
		},
		"migration runs again": {
			"StorageVersionMigration", "status = {conditions: [{type: Failed, status: 'True'}]}", "status = {conditions: []}",
			`status.conditions: Invalid value: []: Failed condition cannot be set to false once it is true`,
		},
		"quota": {"ResourceQuota", "", "status = {hard: {disk: 1, pods: 1}, used: {pods: -1, secrets: 500m}}", `
			status.hard[disk]: Invalid value: "disk": must be a standard resource type or fully qualified
			status.hard[disk]: Invalid value: "disk": must be a standard resource for quota
			status.used[pods]: Invalid value: "-1": ` + negative + `
			status.used[secrets]: Invalid value: "500m": must be an integer`},
		"replica set": {"ReplicaSet", "", "status = {observedGeneration: -1, replicas: -1, fullyLabeledReplicas: -1, " +
			"readyReplicas: -1, availableReplicas: -1}", `
			status.replicas: Invalid value: -1: ` + negative + `
			status.fullyLabeledReplicas: Invalid value: -1: ` + negative + `
			status.readyReplicas: Invalid value: -1: ` + negative + `
			status.availableReplicas: Invalid value: -1: ` + negative + `
			status.observedGeneration: Invalid value: -1: ` + negative},
		"replica set counts": {
			"ReplicaSet", "", "status = {replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1}",
			`status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas`,
		},
		"stateful set": {"StatefulSet", "", "status = {observedGeneration: -1, replicas: -1, readyReplicas: -1, " +
			"currentReplicas: -1, updatedReplicas: -1}", `
			status.observedGeneration: Invalid value: -1: ` + negative + `
			status.replicas: Invalid value: -1: ` + negative + `
			status.readyReplicas: Invalid value: -1: ` + negative + `
			status.currentReplicas: Invalid value: -1: ` + negative + `
			status.updatedReplicas: Invalid value: -1: ` + negative + `
			status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas
			status.availableReplicas: Invalid value: 0: cannot be greater than status.readyReplicas`},
		"stateful set counts": {
			"StatefulSet", "", "status = {replicas: 1, currentReplicas: 2}",
			`status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas`,
		},
		"daemon set": {"DaemonSet", "", "status = {currentNumberScheduled: -1, numberMisscheduled: -1, " +
			"desiredNumberScheduled: -1, numberReady: -1, observedGeneration: -1, updatedNumberScheduled: -1, " +
			"numberAvailable: -1, numberUnavailable: -1}", `
			status.currentNumberScheduled: Invalid value: -1: ` + negative + `
			status.numberMisscheduled: Invalid value: -1: ` + negative + `
			status.desiredNumberScheduled: Invalid value: -1: ` + negative + `
			status.numberReady: Invalid value: -1: ` + negative + `
			status.observedGeneration: Invalid value: -1: ` + negative + `
			status.updatedNumberScheduled: Invalid value: -1: ` + negative + `
			status.numberAvailable: Invalid value: -1: ` + negative + `
			status.numberUnavailable: Invalid value: -1: ` + negative},
		"replication controller": {"ReplicationController", "", "status = {replicas: -1, readyReplicas: -1, availableReplicas: -1}", `
			status.replicas: Invalid value: -1: ` + negative + `
			status.readyReplicas: Invalid value: -1: ` + negative + `
			status.availableReplicas: Invalid value: -1: ` + negative + `
			status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas`},
		"job": {"Job", "", "status = {active: -1, succeeded: -1, failed: -1}", `
			status.active: Invalid value: -1: ` + negative + `
			status.succeeded: Invalid value: -1: ` + negative + `
			status.failed: Invalid value: -1: ` + negative + `
			status.failed: Invalid value: -1: cannot decrease the failed counter
			status.succeeded: Invalid value: -1: cannot decrease the succeeded counter`},
		"attachment": {"VolumeAttachment", "", "status = {attached: false, attachError: {message: " + strings.Repeat("a", 1025) + "}, " +
			"detachError: {errorCode: -1}, attachmentMetadata: {a: " + strings.Repeat("a", 256<<10) + "}}", `
			status.attachmentMetadata: Too long: may not be more than 262144 bytes
			status.attachError.message: Too long: may not be more than 1024 bytes
			status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive`},
		"service": {
			"Service", "spec/type = ClusterIP", "status = {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}",
			"status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
		},
		"budget": {
			"PodDisruptionBudget", "", "status = {conditions: [{type: Ready, status: Maybe, reason: A, " +
				"lastTransitionTime: '2026-01-02T03:04:05Z', message: ''}], expectedPods: -1}", `
			status.expectedPods: Invalid value: -1: ` + negative + `
			status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`,
		},
		"conditions of a request": {
			"CertificateSigningRequest", "", "status = {conditions: [{type: Approved, status: 'False'}, " +
				"{type: Denied, status: 'True'}, {status: Maybe}, {type: Denied}]}", `
			status.conditions[0].status: Unsupported value: "False": supported values: "True"
			status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive
			status.conditions[2].type: Required value
			status.conditions[2].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"
			status.conditions[3].status: Required value
			status.conditions[3].type: Duplicate value: "Denied"
			status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`,
		},
		"request approved after its denial": {
			"CertificateSigningRequest",
			"status = {conditions: [{type: Denied, status: 'True'}]}", "status = {conditions: [{type: Approved, status: 'True'}]}",
			`status.conditions: Forbidden: updates may not remove a condition of type "Denied"`,
		},
		"certificate without PEM": {
			"CertificateSigningRequest", "", "status = {certificate: aGVsbG8=}",
			`status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block`,
		},
		"certificate that is a key": {
			"CertificateSigningRequest", "", certificateStatus("-----BEGIN KEY-----\n-----END KEY-----\n"),
			`status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "KEY"`,
		},
		"certificate with a PEM header": {
			"CertificateSigningRequest", "", certificateStatus("-----BEGIN CERTIFICATE-----\na: b\n\n-----END CERTIFICATE-----\n"),
			`status.certificate: Invalid value: "<certificate data>": no PEM block headers are permitted`,
		},
		"empty certificate": {
			"CertificateSigningRequest", "", certificateStatus("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
			`status.certificate: Invalid value: "<certificate data>": x509: malformed certificate`,
		},
		"certificate replaced": {
			"CertificateSigningRequest", "status = {certificate: aGVsbG8=}", "status = {certificate: aGVs}",
			`status.certificate: Forbidden: updates may not modify existing certificate content`,
		},
		"certificate unchanged": {"CertificateSigningRequest", "status = {certificate: aGVsbG8=}", "status = {certificate: aGVsbG8=}", ``},
		"node of a pod changed": {"Pod", "spec/nodeName = a", "spec/nodeName = b", `status.nodeName: Forbidden: may not be changed directly`},
		"restart with policy Never": {
			"Pod", "spec/restartPolicy = Never\n" + terminated, "spec/restartPolicy = Never\n" + running,
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`,
		},
		"restart after success with policy OnFailure": {
			"Pod", "spec/restartPolicy = OnFailure\n" + terminated, "spec/restartPolicy = OnFailure\n" + running,
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`,
		},
		"init container restarted with policy Never": {
			"Pod", "spec/restartPolicy = Never\n" + strings.Replace(terminated, "containerStatuses", "initContainerStatuses", 1),
			"spec/restartPolicy = Never\n" + strings.Replace(running, "containerStatuses", "initContainerStatuses", 1),
			`status.initContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`,
		},
		"ephemeral container restarted": {
			"Pod", strings.Replace(terminated, "containerStatuses", "ephemeralContainerStatuses", 1),
			strings.Replace(running, "containerStatuses", "ephemeralContainerStatuses", 1),
			`status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`,
		},
		"nominated node of a pod": {"Pod", "spec/nodeName = a", "spec/nodeName = a\nstatus/nominatedNodeName = A_", `
			status.nominatedNodeName: Invalid value: "A_": ` + subdomain + `
			status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node`},
		"generation and class of a pod": {"Pod", "status/qosClass = Burstable", "status/qosClass = Guaranteed\nstatus/observedGeneration = -1", `
			status.observedGeneration: Invalid value: -1: must be a non-negative integer
			status.qosClass: Invalid value: "Guaranteed": field is immutable`},
		"addresses of a pod": {"Pod", "", "status = {podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], hostIP: 10.0.0.4, hostIPs: [{ip: 10.0.0.3}, {ip: x}]}", `
			status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family
			status.hostIPs[0].ip: Invalid value: "10.0.0.3": must be equal to ` + "`hostIP`" + `
			status.hostIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
			status.hostIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x
			status.hostIPs: Invalid value: [{"ip":"10.0.0.3"},{"ip":"x"}]: may specify no more than one IP for each IP family`},
		"an address of each family, and stored ones": {
			"Pod", "status = {podIPs: [{ip: x}]}", "status = {podIPs: [{ip: x}], hostIP: 10.0.0.3, hostIPs: [{ip: 10.0.0.3}, {ip: 'fd00::1'}]}", ``,
		},
		"restarted by the policy of the pod": {"Pod", terminated, running, ``},
		"restarted by the policy of the container": {
			"Pod", "spec/restartPolicy = Never\nspec/containers/0/restartPolicy = Always\n" + terminated,
			"spec/restartPolicy = Never\n" + running, ``,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			stored := "metadata/resourceVersion = '1'\n"
			oldObj := defaulted(t, edit(t, valid[row.kind], stored+row.old))
			newObj := defaulted(t, edit(t, valid[row.kind], stored+row.new))
			if diff := cmp.Diff(lines(row.want), messages(rules.ValidateStatus(newObj, oldObj))); diff != "" {
				t.Errorf("ValidateStatus (-want +got):\n%s", diff)
			}
		})
	}
}
