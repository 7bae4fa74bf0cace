package rules_test

import "testing"

func TestDevices(t *testing.T) {
	const identifier = `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric ` +
		`characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')`
	const reference = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	edits{
		"no expression": {
			"spec/selectors = [{}]",
			`spec.selectors[0].cel: Required value`,
		},
		"no driver": {
			"spec/config = [{}]",
			`spec.config[0].opaque: Required value`,
		},
		"no parameters": {
			"spec/config/0/opaque/parameters =",
			`spec.config[0].opaque.parameters: Required value`,
		},
		"parameter list": {
			"spec/config/0/opaque/parameters = [a]",
			`spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`,
		},
	}.run(t, "DeviceClass")
	edits{
		"name": {
			"spec/devices/requests/0/name = A\nspec/devices/constraints =\nspec/devices/config =",
			`spec.devices.requests[0].name: Invalid value: "A": ` + label,
		},
		"neither": {
			"spec/devices/requests = [{name: a}]\nspec/devices/constraints =\nspec/devices/config =",
			"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
		},
		"both": {
			"spec/devices/requests/0/firstAvailable = [{name: a, deviceClassName: b}]",
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, " +
				"but multiple fields are set",
		},
		"no class": {
			"spec/devices/requests/0/exactly/deviceClassName =",
			`spec.devices.requests[0].exactly.deviceClassName: Required value`,
		},
		"count": {
			"spec/devices/requests/0/exactly/count = -1",
			`spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero`,
		},
		"count of all": {
			"spec/devices/requests/1/firstAvailable/1/count = 1",
			`spec.devices.requests[1].firstAvailable[1].count: Invalid value: 1: ` +
				`must not be specified when allocationMode is 'All'`,
		},
		"constraint": {
			"spec/devices/constraints/0/requests = [other]",
			`spec.devices.constraints[0].requests[0]: Invalid value: "other": ` + reference,
		},
		"configuration": {
			"spec/devices/config/0/requests = [big/small]",
			`spec.devices.config[0].requests[0]: Invalid value: "big/small": ` + reference,
		},
	}.run(t, "ResourceClaim")
	const nodes = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	edits{
		"no driver": {
			"spec/driver =",
			`spec.driver: Required value`,
		},
		"pool": {"spec/pool = {name: a//b, generation: -1, resourceSliceCount: 0}", `
			spec.pool.name: Invalid value: "": ` + subdomain + `
			spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero
			spec.pool.generation: Invalid value: -1: must be greater than or equal to zero`},
		"no node": {"spec/nodeName =", "spec: Required value: " + nodes},
		"two nodes": {
			"spec/allNodes = true",
			"spec: Invalid value: \"{`nodeName`, `allNodes`}\": " + nodes + ", but multiple fields are set",
		},
		"attributes": {"spec/devices = [{name: a, attributes: {a-b: {string: c}, d: {version: e}, f.com/: {int: 1}}}]", `
			spec.devices[0].attributes: Invalid value: "a-b": ` + identifier + `
			spec.devices[0].attributes[d].version: Invalid value: "e": must be a string compatible with semver.org spec 2.0.0
			spec.devices[0].attributes: Invalid value: "": the name must not be empty`},
		"conditions": {
			"spec/devices = [{name: a, bindingConditions: [b]}]",
			`spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
		},
		"selector": {
			"spec/nodeName =\nspec/nodeSelector = {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}",
			"spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
		},
		"same device": {
			"spec/devices = [{name: a}, {name: a}]",
			`spec.devices[1]: Duplicate value: "a"`,
		},
		"node of a device": {
			"spec/devices/0/nodeName = n1",
			"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` " +
				"can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
		},
	}.run(t, "ResourceSlice")
	edits{
		"no key": {
			"spec/taint/key =",
			"spec.taint.key: Invalid value: \"\": name part must be non-empty\nspec.taint.key: Invalid value: \"\": " + qualified,
		},
		"device": {
			"spec/deviceSelector/device = A",
			`spec.deviceSelector.device: Invalid value: "A": ` + label,
		},
	}.run(t, "DeviceTaintRule")
}
