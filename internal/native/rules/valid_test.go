package rules_test

import "maps"

// valid has a realistic manifest for each kind, and some further ones under other names. All are valid. The other tests
// change them.
var valid = union(validCore, validWorkloads, validStorageAndNetworks, validAccess)

func union(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
