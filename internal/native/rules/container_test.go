package rules_test

import "testing"

func TestContainers(t *testing.T) {
	edits{
		"image missing": {"spec/containers/0/image =", `spec.containers[0].image: Required value`},
		"image with space": {
			"spec/containers/0/image = 'web '",
			`spec.containers[0].image: Invalid value: "web ": must not have leading or trailing whitespace`,
		},
		"name missing": {"spec/containers/0/name =", `spec.containers[0].name: Required value`},
		"name":         {"spec/containers/0/name = Web", `spec.containers[0].name: Invalid value: "Web": ` + label},
		"pull policy": {
			"spec/containers/0/imagePullPolicy = Sometimes",
			`spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
		},
		"message policy": {
			"spec/containers/0/terminationMessagePolicy = X",
			`spec.containers[0].terminationMessagePolicy: Unsupported value: "X": supported values: "FallbackToLogsOnError", "File"`,
		},
		"restart policy": {
			"spec/initContainers/1/restartPolicy = X\nspec/initContainers/1/startupProbe =",
			`spec.initContainers[1].restartPolicy: Unsupported value: "X": supported values: "Always", "Never", "OnFailure"`,
		},
		"resize policy": {"spec/containers/0/resizePolicy = [{resourceName: disk, restartPolicy: X}]", `
			spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"
			spec.containers[0].resizePolicy: Unsupported value: "X": supported values: "NotRequired", "RestartContainer"`},

		"port zero": {"spec/containers/0/ports/0/containerPort = 0", `spec.containers[0].ports[0].containerPort: Required value`},
		"port range": {
			"spec/containers/0/ports/0/containerPort = 70000",
			`spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
		},
		"host port range": {
			"spec/containers/0/ports/0/hostPort = -1",
			`spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive`,
		},
		"host ip": {
			"spec/containers/0/ports/0/hostIP = host", "",
		},
		"protocol": {
			"spec/containers/0/ports/0/protocol = tcp",
			`spec.containers[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
		},
		"port name": {
			"spec/containers/0/ports/0/name = a-very-long-name",
			`spec.containers[0].ports[0].name: Invalid value: "a-very-long-name": must be no more than 15 characters`,
		},
		"port name twice": {"spec/containers/0/ports/1/name = http", `spec.containers[0].ports[1].name: Duplicate value: "http"`},
		"host port conflict": {
			"spec/containers/0/ports/2 = {containerPort: 54, hostPort: 5353, protocol: UDP}",
			`spec.containers[0].ports[2].hostPort: Duplicate value: "UDP//5353"`,
		},
		"host network": {"spec/hostNetwork = true\nspec/containers/0/ports = [{containerPort: 80, hostPort: 81}]", "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true\n" +
			"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},

		"name twice":             {"spec/containers/1 = {name: web, image: web}", `spec.containers[1].name: Duplicate value: "web"`},
		"name of init container": {"spec/initContainers/0/name = web", `spec.initContainers[0].name: Duplicate value: "web"`},
		"no containers":          {"spec/containers = []", `spec.containers: Required value`},
		"ephemeral at creation": {
			"spec/ephemeralContainers = [{name: debug, image: busybox}]",
			`spec.ephemeralContainers: Forbidden: cannot be set on create`,
		},
		"ephemeral container's name and image": {"spec/ephemeralContainers = [{name: A, image: ' a'}, {name: b}]", `
			spec.ephemeralContainers[0].name: Invalid value: "A": ` + label + `
			spec.ephemeralContainers[0].image: Invalid value: " a": must not have leading or trailing whitespace
			spec.ephemeralContainers[1].image: Required value
			spec.ephemeralContainers: Forbidden: cannot be set on create`},
		"ephemeral container": {"spec/ephemeralContainers = [{name: debug, image: busybox, targetContainerName: other, " +
			"ports: [{containerPort: 1}], resources: {limits: {cpu: 1}}, livenessProbe: {tcpSocket: {port: 1}}, " +
			"readinessProbe: {tcpSocket: {port: 1}}, startupProbe: {tcpSocket: {port: 1}}, " +
			"lifecycle: {preStop: {sleep: {seconds: 1}}}}]", `
			spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].readinessProbe: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].startupProbe: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container
			spec.ephemeralContainers[0].targetContainerName: Not found: "other"
			spec.ephemeralContainers: Forbidden: cannot be set on create`},
		"probes of init containers": {"spec/initContainers/0/livenessProbe = {tcpSocket: {port: 1}}\n" +
			"spec/initContainers/0/readinessProbe = {tcpSocket: {port: 1}}\n" +
			"spec/initContainers/0/startupProbe = {tcpSocket: {port: 1}}\n" +
			"spec/initContainers/0/lifecycle = {preStop: {sleep: {seconds: 1}}}", `
			spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always
			spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
			spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
			spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always`},

		"mount without volume": {"spec/containers/0/volumeMounts/0/name = nope", `spec.containers[0].volumeMounts[0].name: Not found: "nope"`},
		"mount path missing": {
			"spec/containers/0/volumeMounts/0/mountPath =", `spec.containers[0].volumeMounts[0].mountPath: Required value`,
		},
		"mount path twice": {
			"spec/containers/0/volumeMounts/1/mountPath = /etc/config",
			`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/etc/config": must be unique`,
		},
		"mount path of a device": {
			"spec/containers/0/volumeMounts/1/mountPath = /dev/xvda", `
			spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/dev/xvda": must not already exist as a path in volumeDevices
			spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/dev/xvda": must not already exist as a path in volumeMounts
		`,
		},
		"mount of a device": {
			"spec/containers/0/volumeMounts/1/name = raw", `
			spec.containers[0].volumeMounts[1].name: Invalid value: "raw": must not already exist in volumeDevices
			spec.containers[0].volumeDevices[0].name: Invalid value: "raw": must not already exist in volumeMounts
		`,
		},
		"sub path with '..'": {
			"spec/containers/0/volumeMounts/1/subPath = a/../b", `spec.containers[0].volumeMounts.subPath: Invalid value: "a/../b": must not contain '..'`,
		},
		"sub path absolute": {
			"spec/containers/0/volumeMounts/1/subPath = /a", `spec.containers[0].volumeMounts.subPath: Invalid value: "/a": must be a relative path`,
		},
		"sub path expression": {
			"spec/containers/0/volumeMounts/1/subPathExpr = a",
			`spec.containers[0].volumeMounts[1].subPathExpr: Invalid value: "a": subPathExpr and subPath are mutually exclusive`,
		},
		"expression with '..'": {
			"spec/containers/0/volumeMounts/0/subPathExpr = ../a", `spec.containers[0].volumeMounts.subPathExpr: Invalid value: "../a": must not contain '..'`,
		},
		"propagation": {
			"spec/containers/0/volumeMounts/0/mountPropagation = Bidirectional", `
			spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers
		`,
		},
		"device without volume": {"spec/containers/0/volumeDevices/0/name = nope", `spec.containers[0].volumeDevices[0].name: Not found: "nope"`},
		"device of a directory": {
			"spec/containers/0/volumeDevices/0/name = host",
			`spec.containers[0].volumeDevices[0].name: Invalid value: "host": ` +
				`can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
		},
		"device twice": {"spec/containers/0/volumeDevices/1 = {name: raw, devicePath: /dev/xvda}", `
			spec.containers[0].volumeDevices[1].name: Invalid value: "raw": must be unique
			spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/dev/xvda": must be unique`},
		"device path with '..'": {
			"spec/containers/0/volumeDevices/0/devicePath = /dev/../x", `
			spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/dev/../x": can not contain backsteps ('..')
		`,
		},
	}.run(t, "Pod")
}

func TestEnvironment(t *testing.T) {
	edits{
		"name missing": {"spec/containers/0/env/0/name =", `spec.containers[0].env[0].name: Required value`},
		"name": {
			"spec/containers/0/env/0/name = A=B",
			`spec.containers[0].env[0].name: Invalid value: "A=B": ` +
				`a valid environment variable name must consist only of printable ASCII characters other than '='`,
		},
		"value and source": {
			"spec/containers/0/env/1/value = x",
			"spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
		},
		"two sources": {
			"spec/containers/0/env/1/valueFrom/secretKeyRef = {name: a, key: b}",
			`spec.containers[0].env[1].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
		},
		"no source": {
			"spec/containers/0/env/1/valueFrom = {}",
			"spec.containers[0].env[1].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, " +
				"`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
		},
		"unknown field": {
			"spec/containers/0/env/1/valueFrom/fieldRef/fieldPath = spec.foo",
			`spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": ` +
				`error converting fieldPath: field label not supported: spec.foo`,
		},
		"field that is not supported": {
			"spec/containers/0/env/1/valueFrom/fieldRef/fieldPath = status.phase",
			`spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: ` +
				`"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", ` +
				`"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
		},
		"field missing": {
			"spec/containers/0/env/1/valueFrom/fieldRef/fieldPath = ''",
			`spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Required value`,
		},
		"field with key": {
			"spec/containers/0/env/1/valueFrom/fieldRef/fieldPath = spec.nodeName['a']", `
			spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Invalid value: "spec.nodeName['a']": error converting fieldPath: field label does not support subscript: spec.nodeName['a']
		`,
		},
		"resource": {
			"spec/containers/0/env/3/valueFrom/resourceFieldRef = {resource: limits.disk}",
			`spec.containers[0].env[3].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.disk": ` +
				`supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", ` +
				`"requests.ephemeral-storage", "requests.memory"`,
		},
		"divisor": {
			"spec/containers/0/env/3/valueFrom/resourceFieldRef = {resource: limits.cpu, divisor: 1Mi}", `
			spec.containers[0].env[3].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource
		`,
		},
		"secret key": {"spec/containers/0/env/4/valueFrom/secretKeyRef = {}", `
			spec.containers[0].env[4].valueFrom.secretKeyRef.key: Required value
			spec.containers[0].env[4].valueFrom.secretKeyRef.name: Invalid value: "": ` + subdomain},
		"secret key syntax": {
			"spec/containers/0/env/4/valueFrom/secretKeyRef/key = a/b",
			`spec.containers[0].env[4].valueFrom.secretKeyRef.key: Invalid value: "a/b": ` + configKey,
		},
		"config map key": {"spec/containers/0/env/5/valueFrom/configMapKeyRef = {name: '', key: '..'}", `
			spec.containers[0].env[5].valueFrom.configMapKeyRef.key: Invalid value: "..": must not be '..'
			spec.containers[0].env[5].valueFrom.configMapKeyRef.name: Invalid value: "": ` + subdomain},
		"from nothing": {
			"spec/containers/0/envFrom/0 = {prefix: A}",
			"spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
		},
		"from both": {
			"spec/containers/0/envFrom/0/secretRef = {name: a}",
			`spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time`,
		},
		"from prefix": {
			"spec/containers/0/envFrom/0/prefix = a=",
			`spec.containers[0].envFrom[0].prefix: Invalid value: "a=": ` +
				`a valid environment variable name must consist only of printable ASCII characters other than '='`,
		},
		"from config map": {
			"spec/containers/0/envFrom/0/configMapRef/name =\nspec/containers/0/envFrom/0/configMapRef/optional = true",
			`spec.containers[0].envFrom[0].configMapRef.name: Required value`,
		},
		"from secret": {
			"spec/containers/0/envFrom/1/secretRef/name =\nspec/containers/0/envFrom/1/secretRef/optional = true",
			`spec.containers[0].envFrom[1].secretRef.name: Required value`,
		},
	}.run(t, "Pod")
}

func TestProbes(t *testing.T) {
	edits{
		"no handler": {
			"spec/containers/0/livenessProbe = {periodSeconds: 1}",
			`spec.containers[0].livenessProbe: Required value: must specify a handler type`,
		},
		"two handlers": {
			"spec/containers/0/livenessProbe/tcpSocket = {port: 80}",
			`spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
		},
		"lifecycle without handler": {
			"spec/containers/0/lifecycle = {preStop: {}}",
			`spec.containers[0].lifecycle.preStop: Required value: must specify a handler type`,
		},
		"ranges": {"spec/containers/0/readinessProbe = {exec: {command: [a]}, initialDelaySeconds: -1, " +
			"timeoutSeconds: -1, periodSeconds: -1, successThreshold: -1, failureThreshold: -1, terminationGracePeriodSeconds: 0}", `
			spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0
			spec.containers[0].readinessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0
			spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0
			spec.containers[0].readinessProbe.successThreshold: Invalid value: -1: must be greater than or equal to 0
			spec.containers[0].readinessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0
			spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0
			spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must not be set for readinessProbes`},
		"one success": {
			"spec/containers/0/livenessProbe/successThreshold = 2",
			`spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1`,
		},
		"one success, start": {
			"spec/containers/0/startupProbe/successThreshold = 2",
			`spec.containers[0].startupProbe.successThreshold: Invalid value: 2: must be 1`,
		},
		"command": {"spec/containers/0/readinessProbe/exec/command =", `spec.containers[0].readinessProbe.exec.command: Required value`},
		"port": {
			"spec/containers/0/livenessProbe/httpGet/port = 0",
			`spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
		},
		"port name": {
			"spec/containers/0/livenessProbe/httpGet/port = 'http_1'",
			`spec.containers[0].livenessProbe.httpGet.port: Invalid value: "http_1": ` +
				`must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
		},
		"scheme": {
			"spec/containers/0/livenessProbe/httpGet/scheme = http",
			`spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "http": supported values: "HTTP", "HTTPS"`,
		},
		"header": {"spec/containers/0/livenessProbe/httpGet/httpHeaders = [{name: 'a b', value: ''}, {name: '', value: ''}]", `
			spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
			spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
		`},
		"socket": {
			"spec/initContainers/1/startupProbe/tcpSocket/port = 0",
			`spec.initContainers[1].startupProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
		},
		"grpc": {
			"spec/containers/0/startupProbe/grpc/port = 0",
			`spec.containers[0].startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
		},
		"sleep": {
			"spec/containers/0/lifecycle = {preStop: {sleep: {seconds: -1}}}",
			`spec.containers[0].lifecycle.preStop.sleep: Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds (30)`,
		},
		"sleep too long": {
			"spec/containers/0/lifecycle = {postStart: {sleep: {seconds: 31}}}",
			`spec.containers[0].lifecycle.postStart.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
		},
	}.run(t, "Pod")
}

func TestResources(t *testing.T) {
	edits{
		"request above limit": {
			"spec/containers/0/resources/requests/memory = 256Mi",
			`spec.containers[0].resources.requests: Invalid value: "256Mi": must be less than or equal to memory limit of 128Mi`,
		},
		"negative": {
			"spec/containers/0/resources/requests/cpu = -1",
			`spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
		},
		"name": {
			"spec/containers/0/resources/requests/disk = 1",
			`spec.containers[0].resources.requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified` + "\n" +
				`spec.containers[0].resources.requests[disk]: Invalid value: "disk": must be a standard resource for containers`,
		},
		"syntax of name": {
			"spec/containers/0/resources/requests/-a = 1", `
			spec.containers[0].resources.requests[-a]: Invalid value: "-a": ` + qualified + `
			spec.containers[0].resources.requests[-a]: Invalid value: "-a": must be a standard resource for containers
		`,
		},
		"extended without limit": {
			"spec/containers/0/resources/limits/example.com~1gpu =",
			`spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources`,
		},
		"extended not equal": {
			"spec/containers/0/resources/limits/example.com~1gpu = 2",
			`spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`,
		},
		"fraction of an extended resource": {"spec/containers/0/resources/requests/example.com~1gpu = 500m\n" +
			"spec/containers/0/resources/limits/example.com~1gpu = 500m", `
			spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer
			spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer`},
		"huge pages": {"spec/containers/0/resources = {requests: {hugepages-2Mi: 4Mi}, limits: {hugepages-2Mi: 8Mi}}", `
			spec.containers[0].resources.requests: Invalid value: "4Mi": must be equal to hugepages-2Mi limit of 8Mi
			spec.containers[0].resources: Forbidden: HugePages require cpu or memory
		`},
		"overhead": {"spec/overhead = {cpu: -1, disk: 1}", `
			spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0
			spec.overhead.limits[disk]: Invalid value: "disk": must be a standard resource type or fully qualified
			spec.overhead.limits[disk]: Invalid value: "disk": must be a standard resource for containers`},
	}.run(t, "Pod")
}
