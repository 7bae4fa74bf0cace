package rules_test

import "testing"

func TestPods(t *testing.T) {
	edits{
		"restart policy": {
			"spec/restartPolicy = X",
			`spec.restartPolicy: Unsupported value: "X": supported values: "Always", "Never", "OnFailure"`,
		},
		"dns policy": {
			"spec/dnsPolicy = X",
			`spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"`,
		},
		"deadline": {
			"spec/activeDeadlineSeconds = 0",
			`spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive`,
		},
		"node selector":   {"spec/nodeSelector = {a: -}", `spec.nodeSelector: Invalid value: "-": ` + labelValue},
		"service account": {"spec/serviceAccountName = A", `spec.serviceAccountName: Invalid value: "A": ` + subdomain},
		"node name":       {"spec/nodeName = A", `spec.nodeName: Invalid value: "A": ` + subdomain},
		"host name":       {"spec/hostname = a.b", `spec.hostname: Invalid value: "a.b": must not contain dots`},
		"subdomain":       {"spec/subdomain = A", `spec.subdomain: Invalid value: "A": ` + label},
		"priority class":  {"spec/priorityClassName = A", `spec.priorityClassName: Invalid value: "A": ` + subdomain},
		"runtime class":   {"spec/runtimeClassName = A", `spec.runtimeClassName: Invalid value: "A": ` + subdomain},
		"preemption": {
			"spec/preemptionPolicy = X",
			`spec.preemptionPolicy: Unsupported value: "X": supported values: "Never", "PreemptLowerPriority"`,
		},
		"os":             {"spec/os = {name: plan9}", `spec.os: Unsupported value: "plan9": supported values: "linux", "windows"`},
		"os missing":     {"spec/os = {name: ''}", `spec.os.name: Required value`},
		"readiness gate": {"spec/readinessGates/0/conditionType = -a", `spec.readinessGates[0].conditionType: Invalid value: "-a": ` + qualified},
		"scheduling gates": {"spec/schedulingGates = [{name: example.com/a}, {name: example.com/a}, {name: -a}]", `
			spec.schedulingGates[1]: Duplicate value: "example.com/a"
			spec.schedulingGates[2]: Invalid value: "-a": ` + qualified},
		"host alias": {"spec/hostAliases = [{ip: a, hostnames: [A]}]", `
			spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
			spec.hostAliases[0].hostnames[0]: Invalid value: "A": ` + subdomain},
		"host alias without ip": {
			"spec/hostAliases = [{ip: 10.0.0.1, hostnames: ['']}]",
			`spec.hostAliases[0].hostnames[0]: Invalid value: "": ` + subdomain,
		},
		"host alias without an address": {
			"spec/hostAliases = [{ip: ''}]",
			`spec.hostAliases[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
		},
		"dns servers": {"spec/dnsConfig/nameservers = [1.1.1.1, 1.1.1.2, 1.1.1.3, a]", `
			spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","a"]: must not have more than 3 nameservers
			spec.dnsConfig.nameservers[3]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		"dns option": {"spec/dnsConfig/options = [{value: a}]", `spec.dnsConfig.options[0]: Required value: must not be empty`},
		"no dns": {
			"spec/dnsPolicy = None\nspec/dnsConfig =",
			"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
		},
		"no dns servers": {
			"spec/dnsPolicy = None\nspec/dnsConfig = {searches: [a]}",
			"spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
		},
		"stop signal": {
			"spec/os = {name: linux}\nspec/containers/0/lifecycle/stopSignal = SIGX",
			`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGX": supported values: ` + signals,
		},
		"stop signal without a system": {
			"spec/containers/0/lifecycle/stopSignal = SIGTERM",
			"spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`",
		},
		"stop signal on windows": {
			"spec = {os: {name: windows}, containers: [{name: a, image: a, lifecycle: {stopSignal: SIGHUP}}]}",
			`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"`,
		},
		"searches": {
			"spec/dnsConfig/searches = [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a]",
			`spec.dnsConfig.searches: Invalid value: ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a",` +
				`"a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]: must not have more than 32 search paths`,
		},
	}.run(t, "Pod")
}

const signals = `"SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", ` +
	`"SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", ` +
	`"SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", ` +
	`"SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", ` +
	`"SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", ` +
	`"SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", ` +
	`"SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", ` +
	`"SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"`

func TestScheduling(t *testing.T) {
	edits{
		"toleration key": {"spec/tolerations/0/key = -a", `spec.tolerations[0].key: Invalid value: "-a": ` + qualified},
		"toleration operator": {
			"spec/tolerations/1/operator = Equal",
			"spec.tolerations[1].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, " +
				"which means \"match all values and all keys\"",
		},
		"toleration effect": {
			"spec/tolerations/0/effect = X\nspec/tolerations/0/tolerationSeconds =",
			`spec.tolerations[0].effect: Unsupported value: "X": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"`,
		},
		"toleration seconds": {
			"spec/tolerations/0/effect = NoSchedule",
			"spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
		},
		"toleration value": {
			"spec/tolerations/0/value = a",
			"spec.tolerations[0].operator: Invalid value: \"Exists\": value must be empty when `operator` is 'Exists'",
		},
		"toleration bad value": {
			"spec/tolerations/0/operator = Equal\nspec/tolerations/0/value = '-'",
			`spec.tolerations[0].operator: Invalid value: "-": ` + labelValue,
		},
		"no node terms": {
			"spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms = []",
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: ` +
				`must have at least one node selector term`,
		},
		"node expressions": {`
			spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions = \
				[{key: a, operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: Gt}, {key: -a, operator: X}]`, `
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: \
				Required value: must be specified when ` + "`operator`" + ` is 'In' or 'NotIn'
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: \
				Forbidden: may not be specified when ` + "`operator`" + ` is 'Exists' or 'DoesNotExist'
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: \
				Required value: must be specified single value when ` + "`operator`" + ` is 'Lt' or 'Gt'
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].operator: \
				Invalid value: "X": not a valid selector operator
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].key: \
				Invalid value: "-a": ` + qualified},
		"node fields": {`
			spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields = \
				[{key: metadata.name, operator: In}, {key: metadata.name, operator: Exists, values: [A]}, \
				{key: metadata.uid, operator: '', values: [a]}]`, `
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: \
				Required value: must be only one value when ` + "`operator`" + ` is 'In' or 'NotIn' for node field selector
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].operator: \
				Invalid value: "Exists": not a valid selector operator
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].values[0]: \
				Invalid value: "A": ` + subdomain + `
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[2].operator: \
				Invalid value: "": not a valid selector operator
			spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[2].key: \
				Invalid value: "metadata.uid": not a valid field selector key`},
		"node weight": {
			"spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight = 101",
			`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100`,
		},
		"pod weight": {
			"spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight = 0",
			`spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100`,
		},
		"pod term": {"spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm = " +
			"{topologyKey: -a, namespaces: [A], labelSelector: {matchExpressions: [{key: a, operator: X}]}}", `
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.\
				labelSelector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: \
				Invalid value: "-a": ` + qualified + `
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespace: \
				Invalid value: "A": ` + label},
		"pod topology key": {
			"spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm/topologyKey =", `
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value: can not be empty
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": name part must be non-empty
			spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": ` + qualified,
		},
		"spread skew": {
			"spec/topologySpreadConstraints/0/maxSkew = 0",
			`spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero`,
		},
		"spread domains": {
			"spec/topologySpreadConstraints/0/minDomains = 0",
			`spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero`,
		},
		"spread key": {
			"spec/topologySpreadConstraints/0/topologyKey = ''",
			`spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty`,
		},
		"spread key syntax": {"spec/topologySpreadConstraints/0/topologyKey = -a", ""},
		"spread label keys": {
			"spec/topologySpreadConstraints/0/matchLabelKeys = [-a]",
			`spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "-a": ` + qualified,
		},
		"spread action": {
			"spec/topologySpreadConstraints/0/whenUnsatisfiable = X\nspec/topologySpreadConstraints/0/minDomains =",
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"`,
		},
		"spread and domains": {
			"spec/topologySpreadConstraints/0/whenUnsatisfiable = ScheduleAnyway",
			`spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: ` +
				`can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway`,
		},
		"spread twice": {
			"spec/topologySpreadConstraints/1 = {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}", `
			spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{topology.kubernetes.io/zone, DoNotSchedule}"
		`,
		},
	}.run(t, "Pod")
}

func TestSecurity(t *testing.T) {
	const id = "must be between 0 and 2147483647, inclusive"
	edits{
		"pod": {"spec/securityContext = {runAsUser: -1, runAsGroup: -1, fsGroup: -1, supplementalGroups: [-1], " +
			"fsGroupChangePolicy: X, sysctls: [{name: a, value: ''}, {name: a, value: ''}]}", `
			spec.securityContext.runAsUser: Invalid value: -1: ` + id + `
			spec.securityContext.runAsGroup: Invalid value: -1: ` + id + `
			spec.securityContext.supplementalGroups[0]: Invalid value: -1: ` + id + `
			spec.securityContext.fsGroup: Invalid value: -1: ` + id + `
			spec.securityContext.sysctls[1].name: Duplicate value: "a"
			spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"`},
		"container": {"spec/containers/0/securityContext = {runAsUser: -1, runAsGroup: -1}", `
			spec.containers[0].securityContext.runAsUser: Invalid value: -1: ` + id + `
			spec.containers[0].securityContext.runAsGroup: Invalid value: -1: ` + id},
		"privileged": {
			"spec/containers/0/securityContext = {privileged: true, allowPrivilegeEscalation: false}",
			"spec.containers[0].securityContext: Invalid value: {\"privileged\":true,\"allowPrivilegeEscalation\":false}: " +
				"cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
		},
		"capability": {
			"spec/containers/0/securityContext = {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}",
			"spec.containers[0].securityContext: Invalid value: " +
				"{\"capabilities\":{\"add\":[\"CAP_SYS_ADMIN\"]},\"allowPrivilegeEscalation\":false}: " +
				"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
		},
		"seccomp without profile": {
			"spec/securityContext/seccompProfile = {type: Localhost}",
			`spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
		},
		"seccomp with profile": {
			"spec/securityContext/seccompProfile = {type: Unconfined, localhostProfile: a}",
			`spec.securityContext.seccompProfile.localhostProfile: Invalid value: "a": can only be set when seccomp type is Localhost`,
		},
		"seccomp path": {
			"spec/securityContext/seccompProfile = {type: Localhost, localhostProfile: ../a}",
			`spec.securityContext.seccompProfile.localhostProfile: Invalid value: "../a": must not contain '..'`,
		},
		"seccomp type": {
			"spec/securityContext/seccompProfile = {type: X}",
			`spec.securityContext.seccompProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
		},
		"apparmor without": {
			"spec/securityContext/appArmorProfile = {type: Localhost}",
			`spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
		},
		"apparmor with": {
			"spec/securityContext/appArmorProfile = {type: Unconfined, localhostProfile: a}",
			`spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost`,
		},
		"shared processes": {
			"spec/shareProcessNamespace = true\nspec/hostPID = true", `
			spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled
		`,
		},
		"host process of a container": {
			"spec/containers/0/securityContext = {windowsOptions: {hostProcess: true}}", `
			spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers
			spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers
		`,
		},
		"host process": {
			"spec/securityContext = {windowsOptions: {hostProcess: true}}",
			`spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers`,
		},
	}.run(t, "Pod")
}
