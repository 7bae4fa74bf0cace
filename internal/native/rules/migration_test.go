package rules_test

import "testing"

func TestMigration(t *testing.T) {
	edits{
		"core group":  {"spec/resource = {group: '', resource: secrets}", ""},
		"no group":    {"spec/resource = {resource: secrets}", ""},
		"no resource": {"spec/resource = {group: a}", "spec.resource.resource: Required value: resource is required to be set"},
		"names": {
			"spec/resource = {group: A, resource: A}",
			`spec.resource.group: Invalid value: "A": ` + subdomain + "\n" +
				`spec.resource.resource: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', ` +
				`start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', ` +
				`regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
		},
	}.run(t, "StorageVersionMigration")
}
