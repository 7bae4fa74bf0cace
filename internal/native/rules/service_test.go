package rules_test

import (
	"strings"
	"testing"
)

const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

func TestServices(t *testing.T) {
	edits{
		"no ports":   {"spec/ports =", `spec.ports: Required value`},
		"port":       {"spec/ports/0/port = 0", `spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`},
		"port name":  {"spec/ports/0/name = A", `spec.ports[0].name: Invalid value: "A": ` + label},
		"unnamed":    {"spec/ports/0/name =", `spec.ports[0].name: Required value`},
		"name twice": {"spec/ports/1/name = http", `spec.ports[1].name: Duplicate value: "http"`},
		"port twice": {
			"spec/ports/1 = {name: other, port: 80, targetPort: 81}",
			`spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80,"targetPort":0}`,
		},
		"protocol": {
			"spec/ports/0/protocol = X",
			`spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
		},
		"target port": {
			"spec/ports/0/targetPort = -1",
			`spec.ports[0].targetPort: Invalid value: -1: must be between 1 and 65535, inclusive`,
		},
		"app protocol":            {"spec/ports/0/appProtocol = -a", `spec.ports[0].appProtocol: Invalid value: "-a": ` + qualified},
		"node port twice":         {"spec/ports/1 = {name: other, port: 81, nodePort: 30080}", `spec.ports[1].nodePort: Duplicate value: 30080`},
		"node port of cluster ip": {"spec/type = ClusterIP", "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		"type": {
			"spec/type = X\nspec/ports/0/nodePort =", `
			spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"
		`,
		},
		"headless node port": {
			"spec/clusterIP = None\nspec/clusterIPs = [None]", `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`,
		},
		"cluster ip":          {"spec/clusterIP = a\nspec/clusterIPs = [a]", `spec.clusterIPs[0]: Invalid value: "a": ` + address},
		"cluster ip alone":    {"spec/clusterIPs =", `spec.clusterIPs: Required value`},
		"no cluster ip":       {"spec/clusterIP =", `spec.clusterIPs: Invalid value: ["10.96.0.10"]: must be empty when ` + "`clusterIP` is not specified"},
		"repeated family":     {"spec/ipFamilies = [IPv4, IPv4]", `spec.ipFamilies[1]: Duplicate value: "IPv4"`},
		"family of the other": {"spec/ipFamilies = [IPv6]", `spec.clusterIPs[0]: Invalid value: "10.96.0.10": expected an IPv6 value as indicated by ` + "`ipFamilies[0]`"},
		"cluster ips": {"spec/clusterIPs = [10.96.0.11, a, 10.96.0.12]", `
			spec.clusterIPs: Invalid value: ["10.96.0.11","a","10.96.0.12"]: first value must match ` + "`clusterIP`" + `
			spec.clusterIPs[1]: Invalid value: "a": ` + address + `
			spec.clusterIPs: Invalid value: ["10.96.0.11","a","10.96.0.12"]: may only hold up to 2 values`},
		"selector": {"spec/selector = {a: '-'}", `spec.selector: Invalid value: "-": ` + labelValue},
		"affinity": {"spec/sessionAffinity = X", `spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"`},
		"affinity timeout": {
			"spec/sessionAffinityConfig = {clientIP: {timeoutSeconds: 86401}}",
			`spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400`,
		},
		"external ips": {"spec/externalIPs = [a, 127.0.0.1, 0.0.0.0, 169.254.0.1, 224.0.0.1]", `
			spec.externalIPs[0]: Invalid value: "a": ` + address + `
			spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)
			spec.externalIPs[2]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)
			spec.externalIPs[3]: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)
			spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)
		`},
		"families": {"spec/ipFamilies = [IPv5]", `spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`},
		"distribution": {
			"spec/trafficDistribution = X",
			`spec.trafficDistribution: Unsupported value: "X": supported values: "PreferClose", "PreferSameNode", "PreferSameZone"`,
		},
		"balancer fields": {"spec/loadBalancerSourceRanges = [10.0.0.0/8]\n" +
			"spec/allocateLoadBalancerNodePorts = true\n" +
			"spec/loadBalancerClass = a", "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'\n" +
			"spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'\n" +
			"spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"},
	}.run(t, "Service")
	edits{
		"health check": {
			"spec/externalTrafficPolicy = Cluster",
			"spec.healthCheckNodePort: Invalid value: 31000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
		},
		"ranges": {
			"spec/loadBalancerSourceRanges = [a]",
			`spec.LoadBalancerSourceRanges[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
		},
		"class": {"spec/loadBalancerClass = -a", `spec.loadBalancerClass: Invalid value: "-a": ` + qualified},
		"policy": {
			"spec/externalTrafficPolicy = X\nspec/healthCheckNodePort =",
			`spec.externalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"`,
		},
	}.run(t, "Service load balancer")
	edits{
		"name missing": {"spec/externalName =", `spec.externalName: Required value`},
		"name":         {"spec/externalName = A", `spec.externalName: Invalid value: "A": ` + subdomain},
		"cluster ip":   {"spec/clusterIP = 10.96.0.1", ""},
	}.run(t, "Service external name")
	edits{
		"traffic policy": {
			"spec/externalTrafficPolicy = Local",
			`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`,
		},
	}.run(t, "Service headless")
}

func TestEndpoints(t *testing.T) {
	edits{
		"address": {"subsets/0/addresses/0/ip = a", `subsets[0].addresses[0].ip: Invalid value: "a": ` + address + "\n" +
			`subsets[0].addresses[0].ip: Invalid value: "a": must be a valid IP address`},
		"no address": {"subsets/0/addresses/0/ip = ''", `subsets[0].addresses[0].ip: Invalid value: "": ` + address + "\n" +
			`subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address`},
		"own": {
			"subsets/0/addresses/0/ip = 127.0.0.1",
			`subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
		},
		"names": {"subsets/0/addresses/0/hostname = a.b\nsubsets/0/addresses/0/nodeName = A", `
			subsets[0].addresses[0].hostname: Invalid value: "a.b": must not contain dots
			subsets[0].addresses[0].nodeName: Invalid value: "A": ` + subdomain},
		"no addresses": {"subsets/0/addresses =", "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
		"ports": {"subsets/0/ports = [{port: 0}, {name: A, port: 1, protocol: X, appProtocol: -a}]", `
			subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive
			subsets[0].ports[1].name: Invalid value: "A": ` + label + `
			subsets[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"
			subsets[0].ports[1].appProtocol: Invalid value: "-a": ` + qualified + `
			subsets[0].ports[0].name: Required value`},
	}.run(t, "Endpoints")
	edits{
		"type missing": {"addressType =", `addressType: Required value`},
		"type":         {"addressType = X", `addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"`},
		"no address":   {"endpoints/0/addresses = []", `endpoints[0].addresses: Required value: must contain at least 1 address`},
		"address":      {"endpoints/0/addresses/0 = a", `endpoints[0].addresses[0]: Invalid value: "a": ` + address},
		"family": {
			"endpoints/0/addresses/0 = '2001:db8::1'", `endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address`,
		},
		"other family": {"addressType = IPv6", `endpoints[0].addresses: Invalid value: "10.1.2.3": must be an IPv6 address`},
		"domain": {
			"addressType = FQDN\nendpoints/0/addresses/0 = a",
			`endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots`,
		},
		"many addresses": {
			"endpoints/0/addresses = [" + strings.Repeat("10.1.2.3,", 101) + "]",
			`endpoints[0].addresses: Too many: 101: must have at most 100 items`,
		},
		"many endpoints": {
			"endpoints = [" + strings.Repeat("{addresses: [10.1.2.3]},", 1001) + "]",
			`endpoints: Too many: 1001: must have at most 1000 items`,
		},
		"names": {"endpoints/0/hostname = A\nendpoints/0/nodeName = A", `
			endpoints[0].hostname: Invalid value: "A": ` + label + `
			endpoints[0].nodeName: Invalid value: "A": ` + subdomain},
		"unnamed ports": {"ports = [{port: 1}, {port: 2}]", `ports[1].name: Duplicate value: ""`},
		"ports": {"ports = [{name: A, port: 0, protocol: X, appProtocol: -a}, {name: A, port: 1}]", `
			ports[0].name: Invalid value: "A": ` + label + `
			ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"
			ports[0].appProtocol: Invalid value: "-a": ` + qualified + `
			ports[1].name: Invalid value: "A": ` + label + `
			ports[1].name: Duplicate value: "A"
		`},
	}.run(t, "EndpointSlice")
}
