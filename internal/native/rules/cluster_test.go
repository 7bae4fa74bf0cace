package rules_test

import (
	"strings"
	"testing"
)

func TestCluster(t *testing.T) {
	for kind, rows := range map[string]edits{
		"Namespace": {
			"finalizer": {
				"spec/finalizers = [other]",
				`spec.finalizers: Invalid value: "other": name is neither a standard finalizer name nor is it fully qualified`,
			},
			"finalizer syntax": {"spec/finalizers = [-a]", `
				spec.finalizers: Invalid value: "-a": ` + qualified + `
				spec.finalizers: Invalid value: "-a": name is neither a standard finalizer name nor is it fully qualified
			`},
		},
		"Node": {
			"cidr": {
				"spec/podCIDR = a\nspec/podCIDRs = [a]",
				`spec.podCIDRs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
			},
			"cidrs": {
				"spec/podCIDRs = [10.1.0.0/24, 10.2.0.0/24, 10.3.0.0/24]",
				`spec.podCIDRs: Invalid value: ["10.1.0.0/24","10.2.0.0/24","10.3.0.0/24"]: may specify no more than one CIDR for each IP family`,
			},
			"taint key": {"spec/taints/0/key = -a", `metadata.taints[0].key: Invalid value: "-a": ` + qualified},
			"taint without key": {"spec/taints/0/key = ''", `
				metadata.taints[0].key: Invalid value: "": name part must be non-empty
				metadata.taints[0].key: Invalid value: "": ` + qualified},
			"taint": {"spec/taints/0 = {key: a, value: '-', effect: X}", `
				metadata.taints[0].value: Invalid value: "-": ` + labelValue + `
				metadata.taints[0].effect: Unsupported value: "X": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"
			`},
			"taint effect": {"spec/taints/0 = {key: a, effect: ''}", `metadata.taints[0].effect: Required value`},
			"taint twice": {"spec/taints/1/effect = NoSchedule", `
				metadata.taints[1]: Duplicate value: {"key":"dedicated","effect":"NoSchedule"}: taints must be unique by key and effect pair
			`},
		},
		"Lease": {
			"duration":    {"spec/leaseDurationSeconds = 0", `spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0`},
			"transitions": {"spec/leaseTransitions = -1", `spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0`},
			"released":    {"spec/holderIdentity = ''", ``},
			"preferred":   {"spec/preferredHolder = b", "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
		},
		"PriorityClass": {
			"value": {"value = 1000000001", `value: Forbidden: maximum allowed value of a user defined priority is 1000000000`},
			"name": {
				"metadata/name = system-mine",
				`metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. ` +
					`error: system-mine is not a known system priority class`,
			},
			"preemption": {"preemptionPolicy = X", `preemptionPolicy: Unsupported value: "X": supported values: "Never", "PreemptLowerPriority"`},
		},
		"PriorityClass of the system": {
			"other value": {"value = 1", `metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. \
				error: value of system-node-critical PriorityClass must be 2000001000`},
		},
		"RuntimeClass": {
			"handler":              {"handler =", `handler: Required value`},
			"handler's characters": {"handler = Run_C", `handler: Invalid value: "Run_C": ` + label},
			"overhead": {"overhead/podFixed = {cpu: '-1', power: '1'}", `
				overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0
				overhead.limits[power]: Invalid value: "power": must be a standard resource type or fully qualified
				overhead.limits[power]: Invalid value: "power": must be a standard resource for containers`},
			"node selector": {"scheduling/nodeSelector = {a: '-'}", `scheduling.nodeSelector: Invalid value: "-": ` + labelValue},
			"toleration": {
				"scheduling/tolerations/0/operator = Exists",
				"scheduling.tolerations[0].operator: Invalid value: \"Exists\": value must be empty when `operator` is 'Exists'",
			},
			"toleration twice": {
				"scheduling/tolerations = [{operator: Exists}, {operator: Exists}]",
				`scheduling.tolerations[1]: Duplicate value: {"operator":"Exists"}`,
			},
		},
		"Event": {
			"namespace":    {"involvedObject/namespace = other", `involvedObject.namespace: Invalid value: "other": does not match event.namespace`},
			"no namespace": {"involvedObject/namespace =", `involvedObject.namespace: Invalid value: "": does not match event.namespace`},
			"cluster-wide": {"involvedObject/namespace =\nmetadata/namespace = default", ``},
			"with eventTime": {"eventTime = '2026-01-02T03:04:05.000000Z'\nreason =\nmessage = " + strings.Repeat("x", 1025), `
				reportingComponent: Required value
				reportingInstance: Required value
				action: Required value
				reason: Required value
				reportingComponent: Invalid value: "": name part must be non-empty
				reportingComponent: Invalid value: "": ` + qualified + `
				message: Invalid value: "": can have at most 1024 characters
			`},
		},
		"Event of events.k8s.io": {
			"namespace": {"regarding/namespace =", `involvedObject.namespace: Invalid value: "": does not match event.namespace`},
			"missing": {"eventTime =\nreportingController =\nreportingInstance =\naction =\nreason =\ntype = Odd", `
				eventTime: Required value
				type: Invalid value: "": has invalid value: Odd
			`},
			"too long": {"reportingController = -a\naction = " + strings.Repeat("x", 129) + "\nnote = " + strings.Repeat("x", 1025), `
				reportingController: Invalid value: "-a": ` + qualified + `
				action: Invalid value: "": can have at most 128 characters
				message: Invalid value: "": can have at most 1024 characters`},
			"old fields": {"deprecatedCount = 1\n" +
				"deprecatedFirstTimestamp = '2026-01-02T03:04:05Z'\n" +
				"deprecatedLastTimestamp = '2026-01-02T03:04:05Z'\n" +
				"deprecatedSource = {component: a}", `
				firstTimestamp: Invalid value: "": needs to be unset
				lastTimestamp: Invalid value: "": needs to be unset
				count: Invalid value: "": needs to be unset
				source: Invalid value: "": needs to be unset`},
		},
	} {
		rows.run(t, kind)
	}
}

func TestQuotas(t *testing.T) {
	edits{
		"hard": {"spec/scopes =\n" +
			"spec/scopeSelector =\n" +
			"spec/hard = {-a: 1, disk: 1, requests.storage: 1Gi, cpu: -1, pods: 500m, count/jobs.batch: 500m}", `
			spec.hard[-a]: Invalid value: "-a": ` + qualified + `
			spec.hard[-a]: Invalid value: "-a": must be a standard resource for quota
			spec.hard[count/jobs.batch]: Invalid value: "500m": must be an integer
			spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0
			spec.hard[disk]: Invalid value: "disk": must be a standard resource type or fully qualified
			spec.hard[disk]: Invalid value: "disk": must be a standard resource for quota
			spec.hard[pods]: Invalid value: "500m": must be an integer`},
		"scope": {"spec/scopes = [X]", `spec.scopes: Invalid value: ["X"]: unsupported scope`},
		"conflict": {
			"spec/hard = {pods: 1}\nspec/scopes = [BestEffort, NotBestEffort]",
			`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`,
		},
		"terminating": {
			"spec/scopes = [Terminating, NotTerminating]",
			`spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`,
		},
		"selector": {"spec/scopeSelector/matchExpressions = [{scopeName: X, operator: In, values: [a]}, " +
			"{scopeName: PriorityClass, operator: In}, {scopeName: PriorityClass, operator: Exists, values: [a]}, " +
			"{scopeName: PriorityClass, operator: X}]", `
			spec.scopeSelector.matchExpressions.scopeName: Invalid value: "X": unsupported scope
			spec.scopeSelector.matchExpressions.values: Required value: \
				must be at least one value when ` + "`operator`" + ` is 'In' or 'NotIn' for scope selector
			spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: \
				must be no value when ` + "`operator`" + ` is 'Exist' or 'DoesNotExist' for scope selector
			spec.scopeSelector.matchExpressions.operator: Invalid value: "X": not a valid selector operator`},
		"names that need no domain": {"spec/scopes =\n" +
			"spec/scopeSelector =\n" +
			"spec/hard = {hugepages-2Mi: 1, requests.hugepages-2Mi: 1, limits.ephemeral-storage: 1, services.nodeports: 1, " +
			"limits.hugepages-2Mi: 1, limits.storage: 1, storage: 1, requests.limits.cpu: 1}", `
			spec.hard[limits.hugepages-2Mi]: Invalid value: "limits.hugepages-2Mi": must be a standard resource type or fully qualified
			spec.hard[limits.hugepages-2Mi]: Invalid value: "limits.hugepages-2Mi": must be a standard resource for quota
			spec.hard[limits.storage]: Invalid value: "limits.storage": must be a standard resource type or fully qualified
			spec.hard[limits.storage]: Invalid value: "limits.storage": must be a standard resource for quota
			spec.hard[requests.limits.cpu]: Invalid value: "requests.limits.cpu": must be a standard resource type or fully qualified
			spec.hard[requests.limits.cpu]: Invalid value: "requests.limits.cpu": must be a standard resource for quota
			spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota`},
		"resources of a scope": {"spec/hard = {pods: 1, cpu: 1, secrets: 1, count/secrets: 1}\nspec/scopes = [BestEffort]", `
			spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource
			spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource
			spec.scopeSelector.matchExpressions: Invalid value: {"matchExpressions":[{"scopeName":"PriorityClass","operator":"In",\
				"values":["high"]}]}: unsupported scope applied to resource`},
		"resources of claims": {"spec/hard = {persistentvolumeclaims: 1, requests.storage: 1, pods: 1}\n" +
			"spec/scopes = [VolumeAttributesClass]\n" +
			"spec/scopeSelector =", `
			spec.scopes: Invalid value: ["VolumeAttributesClass"]: unsupported scope applied to resource`},
		"selector without classes": {"spec/scopeSelector/matchExpressions = [{scopeName: Terminating, operator: DoesNotExist}]", `
			spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": \
				must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
				ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`},
		"conflict in the selector": {"spec/scopes =\n" +
			"spec/scopeSelector/matchExpressions = [{scopeName: Terminating, operator: Exists}, " +
			"{scopeName: NotTerminating, operator: Exists}]", `
			spec.scopeSelector.matchExpressions: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`},
	}.run(t, "ResourceQuota")
	edits{
		"order": {"spec/limits/0 = {type: Container, min: {cpu: 4}, defaultRequest: {cpu: 3}, default: {cpu: 2}, max: {cpu: 1}}", `
			spec.limits[0].min[cpu]: Invalid value: "4": min value 4 is greater than max value 1
			spec.limits[0].defaultRequest[cpu]: Invalid value: "3": min value 4 is greater than default request value 3
			spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than max value 1
			spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than default limit value 2
			spec.limits[0].default[cpu]: Invalid value: "2": min value 4 is greater than default value 2
			spec.limits[0].default[cpu]: Invalid value: "2": default value 2 is greater than max value 1`},
		"ratio": {
			"spec/limits/0/maxLimitRequestRatio/cpu = 500m",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`,
		},
		"pod default": {
			"spec/limits/1 = {type: Pod, default: {cpu: 1}, defaultRequest: {cpu: 1}}",
			"spec.limits[1].default: Forbidden: may not be specified when `type` is 'Pod'\n" +
				"spec.limits[1].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
		},
		"claim": {
			"spec/limits/2 = {type: PersistentVolumeClaim}",
			`spec.limits[2].limits: Required value: either minimum or maximum storage value is required, but neither was provided`,
		},
		"type twice": {"spec/limits/1/type = Container", `spec.limits[1].type: Duplicate value: "Container"`},
		"type":       {"spec/limits/1/type = -a", `spec.limits[1].type: Invalid value: "-a": ` + qualified},
		"resource": {"spec/limits/1/max = {-a: 1}", `
			spec.limits[1].max[-a]: Invalid value: "-a": ` + qualified + `
			spec.limits[1].max[-a]: Invalid value: "-a": must be a standard resource for containers
		`},
		"no limits": {"spec/limits = []", ``},

		"type without a domain": {
			"spec/limits/1 = {type: Node}",
			`spec.limits[1].type: Invalid value: "Node": must be a standard limit type or fully qualified`,
		},
		"type with a domain": {"spec/limits/1 = {type: example.com/Widget, max: {example.com/size: 1}}", ``},
		"resource of pods": {
			"spec/limits/1/max = {storage: 1, example.com/gpu: 1}",
			`spec.limits[1].max[storage]: Invalid value: "storage": must be a standard resource for containers`,
		},
		"resource of claims": {
			"spec/limits/2/max = {disk: 1, storage: 10Gi}",
			`spec.limits[2].max[disk]: Invalid value: "disk": must be a standard resource type or fully qualified`,
		},
		"impossible ratio": {
			"spec/limits/0 = {type: Container, min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 3}}",
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000`,
		},
		"greatest possible ratio": {"spec/limits/0 = {type: Container, min: {cpu: 200m}, max: {cpu: 600m}, maxLimitRequestRatio: {cpu: 3}}", ``},
		"defaults that must be equal": {"spec/limits/0 = {type: Container, default: {example.com/gpu: 2}, " +
			"defaultRequest: {example.com/gpu: 1}}", `
			spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in Container`},
	}.run(t, "LimitRange")
}

func TestAutoscaling(t *testing.T) {
	edits{
		"counts": {
			"spec/minReplicas = 0\nspec/maxReplicas = 0",
			"spec.minReplicas: Invalid value: 0: must be greater than or equal to 1\nspec.maxReplicas: Required value: must be set and greater than 0",
		},
		"max is less": {"spec/maxReplicas = 1", "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`"},
		"target": {"spec/scaleTargetRef = {kind: '', name: a/b}", `
			spec.scaleTargetRef.kind: Required value
			spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'
			spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`},
		"target version": {
			"spec/scaleTargetRef/apiVersion = a/b/c", `spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
		},
		"target of the core group": {"spec/scaleTargetRef = {apiVersion: v1, kind: ReplicationController, name: a}", ""},
		"target kind":              {"spec/scaleTargetRef/kind = a/b", `spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'`},
		"source type": {
			"spec/metrics = [{type: X}]",
			`spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
		},
		"no type": {"spec/metrics = [{type: ''}]", `
			spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"
			spec.metrics[0].type: Required value: must specify a metric source type
		`},
		"source missing": {
			"spec/metrics = [{type: Pods}]",
			`spec.metrics[0].pods: Required value: must populate information for the given metric source`,
		},
		"other source": {
			"spec/metrics/0/type = External\nspec/metrics/0/external = {metric: {name: a}, target: {type: Value, value: 1}}",
			`spec.metrics[0].resource: Forbidden: must populate the given metric source only`,
		},
		"resource name": {"spec/metrics/0/resource/name = ''", `spec.metrics[0].resource.name: Required value: must specify a resource name`},
		"container": {
			"spec/metrics/1/containerResource = {name: '', container: '', target: {type: Utilization, averageUtilization: 1}}",
			"spec.metrics[1].containerResource.name: Required value: must specify a resource name\n" +
				"spec.metrics[1].containerResource.container: Required value: must specify a container",
		},
		"metric name": {
			"spec/metrics/2/pods/metric/name = ''",
			`spec.metrics[2].pods.metric.name: Required value: must specify a metric name`,
		},
		"metric segment": {
			"spec/metrics/2/pods/metric/name = a/b",
			`spec.metrics[2].pods.metric.name: Invalid value: "a/b": may not contain '/'`,
		},
		"target type": {
			"spec/metrics/0/resource/target/type = X",
			`spec.metrics[0].resource.target.type: Invalid value: "X": must be either Utilization, Value, or AverageValue`,
		},
		"no target type": {
			"spec/metrics/0/resource/target/type = ''",
			"spec.metrics[0].resource.target.type: Required value: must specify a metric target type\n" +
				`spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
		},
		"utilization": {
			"spec/metrics/0/resource/target/averageUtilization = 0",
			`spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0`,
		},
		"resource target": {
			"spec/metrics/0/resource/target = {type: Utilization}",
			`spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization`,
		},
		"resource targets": {
			"spec/metrics/0/resource/target = {type: Utilization, averageUtilization: 1, averageValue: 1, value: 1}",

			"spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
		},
		"container target": {
			"spec/metrics/1/containerResource/target = {type: AverageValue}",
			`spec.metrics[1].containerResource.target.averageUtilization: Required value: ` +
				`must set either a target raw value or a target utilization`,
		},
		"pods target": {
			"spec/metrics/2/pods/target/averageValue =",
			`spec.metrics[2].pods.target.averageValue: Required value: must specify a positive target averageValue`,
		},
		"object target": {
			"spec/metrics/3/object/target/value =",
			`spec.metrics[3].object.target.averageValue: Required value: must set either a target value or averageValue`,
		},
		"external targets": {
			"spec/metrics/4/external/target/value = 0",
			"spec.metrics[4].external.target.value: Invalid value: \"0\": must be positive\n" +
				"spec.metrics[4].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
		},
		"average": {
			"spec/metrics/4/external/target/averageValue = 0",
			`spec.metrics[4].external.target.averageValue: Invalid value: "0": must be positive`,
		},
		"window": {
			"spec/behavior/scaleDown/stabilizationWindowSeconds = 3601",
			`spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600`,
		},
		"window below 0": {
			"spec/behavior/scaleDown/stabilizationWindowSeconds = -1",
			`spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero`,
		},
		"select policy": {
			"spec/behavior/scaleDown/selectPolicy = X",
			`spec.behavior.scaleDown.selectPolicy: Unsupported value: "X": supported values: "Disabled", "Max", "Min"`,
		},
		"policies": {
			"spec/behavior/scaleDown/policies = []",
			`spec.behavior.scaleDown.policies: Required value: must specify at least one Policy`,
		},
		"policy": {"spec/behavior/scaleDown/policies = [{type: X, value: 0, periodSeconds: 0}, {type: Pods, value: 1, periodSeconds: 1801}]", `
			spec.behavior.scaleDown.policies[0].type: Unsupported value: "X": supported values: "Percent", "Pods"
			spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero
			spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero
			spec.behavior.scaleDown.policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`},
	}.run(t, "HorizontalPodAutoscaler")
	edits{"replicas": {"spec/replicas = -1", `spec.replicas: Invalid value: -1: must be greater than or equal to 0`}}.run(t, "Scale")
	edits{
		"both": {
			"spec/maxUnavailable = 1",
			`spec: Invalid value: {"minAvailable":"50%","selector":{"matchLabels":{"app":"web"}},"maxUnavailable":1,` +
				`"unhealthyPodEvictionPolicy":"AlwaysAllow"}: minAvailable and maxUnavailable cannot be both set`,
		},
		"percent": {"spec/minAvailable = 101%", `spec.minAvailable: Invalid value: "101%": must not be greater than 100%`},
		"below 0": {
			"spec/minAvailable =\nspec/maxUnavailable = -1",
			`spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`,
		},
		"policy": {
			"spec/unhealthyPodEvictionPolicy = X",
			`spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"`,
		},
		"selector": {"spec/selector/matchLabels/app = '-'", `spec.selector.matchLabels: Invalid value: "-": ` + labelValue},
	}.run(t, "PodDisruptionBudget")
}
