package rules_test

import "testing"

// TestWithoutDefaults checks that fields with a default are required. They can be missing if a webhook removed them after
// the defaults were set.
func TestWithoutDefaults(t *testing.T) {
	for kind, rows := range map[string]edits{
		"PodTemplate": {
			"pod": {"template/spec = {hostNetwork: true, containers: [{name: web, image: web, " +
				"ports: [{containerPort: 80}], livenessProbe: {successThreshold: 1, httpGet: {port: 80}}, env: [{name: A, " +
				"valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}", `
				template.spec.containers[0].ports[0].protocol: Required value
				template.spec.containers[0].env[0].valueFrom.fieldRef.apiVersion: Required value
				template.spec.containers[0].livenessProbe.httpGet.path: Required value
				template.spec.containers[0].terminationMessagePolicy: Required value
				template.spec.containers[0].imagePullPolicy: Required value
				template.spec.restartPolicy: Required value
				template.spec.dnsPolicy: Required value`},
			"volume": {"template/spec = {dnsPolicy: Default, restartPolicy: Never, containers: [{name: a, image: a, " +
				"imagePullPolicy: Never, terminationMessagePolicy: File}], volumes: [{name: a}]}", `
				template.spec.volumes[0]: Required value: must specify a volume type`},
		},
		"Pod": {
			"host ports": {
				"spec = {hostNetwork: true, dnsPolicy: Default, restartPolicy: Never, containers: [{name: a, image: a, " +
					"imagePullPolicy: Never, terminationMessagePolicy: File, ports: [{containerPort: 80, protocol: TCP}]}]}",
				"spec.containers[0].ports[0].hostPort: Invalid value: 0: must match `containerPort` when `hostNetwork` is true",
			},
			"ephemeral container": {"spec = {dnsPolicy: Default, restartPolicy: Never, containers: [{name: a, image: a, " +
				"imagePullPolicy: Never, terminationMessagePolicy: File}], ephemeralContainers: [{name: b, image: b}]}", `
				spec.ephemeralContainers[0].terminationMessagePolicy: Required value
				spec.ephemeralContainers[0].imagePullPolicy: Required value
				spec.ephemeralContainers: Forbidden: cannot be set on create`},
		},
		"Deployment": {
			"strategy": {
				"spec/strategy/rollingUpdate =\n" +
					"spec/template/spec = {dnsPolicy: Default, restartPolicy: Always, containers: [{name: a, image: a, " +
					"imagePullPolicy: Never, terminationMessagePolicy: File}]}",
				`spec.strategy.rollingUpdate: Required value: this should be defaulted and never be nil`,
			},
		},
		"DaemonSet": {
			"strategy": {
				"spec/updateStrategy = {type: RollingUpdate}\n" +
					"spec/template/spec = {dnsPolicy: Default, restartPolicy: Always, containers: [{name: a, image: a, " +
					"imagePullPolicy: Never, terminationMessagePolicy: File}]}",
				`spec.updateStrategy.rollingUpdate: Required value`,
			},
		},
		"StatefulSet": {
			"management": {
				"spec/template/spec = {dnsPolicy: Default, restartPolicy: Always, containers: [{name: a, image: a, " +
					"imagePullPolicy: Never, terminationMessagePolicy: File}]}",
				`spec.podManagementPolicy: Required value`,
			},
		},
		"Service": {
			"all": {"spec/type =\nspec/sessionAffinity =\nspec/ports = [{port: 80, targetPort: 80}]", `
				spec.ports[0].protocol: Required value
				spec.type: Required value
				spec.sessionAffinity: Required value`},
			"affinity": {
				"spec/ports/0/protocol = TCP\nspec/ports/1/targetPort = 53\nspec/externalTrafficPolicy = Local\nspec/internalTrafficPolicy = Local",
				`spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP`,
			},
			"traffic": {
				"spec/ports/0/protocol = TCP\nspec/ports/1/targetPort = 53\nspec/sessionAffinity = None",
				"spec.externalTrafficPolicy: Required value\nspec.internalTrafficPolicy: Required value",
			},
		},
		"Endpoints":     {"protocol": {"", `subsets[0].ports[0].protocol: Required value`}},
		"EndpointSlice": {"protocol": {"ports/0/protocol =", `ports[0].protocol: Required value`}},
		"StorageClass": {"all": {"reclaimPolicy =\nvolumeBindingMode =", `
			volumeBindingMode: Required value`}},
		"IngressClass": {"scope": {"spec/parameters/scope =", `spec.parameters.scope: Required value`}},
	} {
		rows.runWith(t, kind, plain)
	}
}
