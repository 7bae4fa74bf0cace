// Package berth is an API as controllers have it: Go types with markers for
// controller-gen, which makes the definition in ../testdata and the copies in
// zz_generated.deepcopy.go from them.
//
// +kubebuilder:object:generate=true
// +groupName=harbour.example.com
// +versionName=v1
package berth
