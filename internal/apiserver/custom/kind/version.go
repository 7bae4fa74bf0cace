package kind

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	mergeschema "sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/ownership"
)

// Version is one version of a kind.
type Version struct {
	Kind *Kind
	Name string
	Spec *definition.CustomResourceDefinitionVersion

	// Compile sets the following fields.

	// Compiled holds the rules of the schema.
	Compiled *definition.Compiled
	// AlsoMarked are the other versions with markers that an update through this version must obey too, see definition.AlsoMarked.
	AlsoMarked []*Version
	// protecting are their policies, if objects of this version may lack values that these protect.
	protecting []*immutability.Policy

	// CompileWrites sets the following fields.

	// Owned is the type by which package ownership compares objects.
	Owned *ownership.Type
	// Merged is the type by which server-side apply merges objects.
	Merged MergeType
}

// MergeType is the type of a version in the library that merges applied configurations.
type MergeType struct {
	Schema *mergeschema.Schema
	Ref    mergeschema.TypeRef
}

// GroupVersion returns the API version of the objects.
func (v *Version) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.Kind.Group, Version: v.Name}
}

// GroupVersionKind returns the kind of the objects, with its API version.
func (v *Version) GroupVersionKind() schema.GroupVersionKind {
	return v.GroupVersion().WithKind(v.Kind.Kind)
}

// ListKind returns the kind of a list of the objects, with its API version.
func (v *Version) ListKind() schema.GroupVersionKind {
	return v.GroupVersion().WithKind(v.Kind.CRD.Status.AcceptedNames.ListKind)
}

// Sets returns the kept sets of managed fields. It may be nil.
func (v *Version) Sets() *fieldset.Sets { return v.Kind.config.Sets }
