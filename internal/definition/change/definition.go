package change

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
)

// Removed returns the change for a definition that is gone.
func Removed(oldCRD *definition.CustomResourceDefinition) Change {
	return Change{
		Rule: removedRule, Severity: finding.Error, Message: fmt.Sprintf("definition %s is gone", oldCRD.Name),
		Reason: "the server deletes every object of the kind together with the definition", hit: everyObject,
	}
}

// Added returns the change for a new definition.
func Added(newCRD *definition.CustomResourceDefinition) Change {
	return Change{Rule: addedRule, Severity: finding.Note, Message: fmt.Sprintf("definition %s is new", newCRD.Name)}
}

// Unstored returns the changes for versions that a status names as stored no longer.
func Unstored(versions []string) []Change {
	var changes []Change
	for _, version := range versions {
		changes = append(changes, Change{
			Rule: storageRule, Severity: finding.Error, Path: "status.storedVersions", Version: version,
			Message: fmt.Sprintf("version %s is gone, although objects are stored in it", version),
			Reason:  "the version could be removed from the definition, and the server could not read them: store them in another version first",
			hit:     everyObject,
		})
	}
	return changes
}

// MayBeStored returns the changes of Unstored for a cluster that does not show in which version an object is stored.
func MayBeStored(versions []string) []Change {
	changes := Unstored(versions)
	for i, version := range versions {
		changes[i].Version, changes[i].Message = "", fmt.Sprintf("version %s is gone, and objects may be stored in it", version)
	}
	return changes
}

// Anything returns a definition that keeps and accepts every object, with the versions of another one and further ones. Compared with
// it, the other one shows what it does to objects of which no definition is known.
func Anything(crd *definition.CustomResourceDefinition, stored []string) *definition.CustomResourceDefinition {
	out := crd.DeepCopy()
	out.Annotations = nil
	for _, name := range stored {
		if out.Spec.Version(name) == nil {
			out.Spec.Versions = append(out.Spec.Versions, definition.CustomResourceDefinitionVersion{Name: name})
		}
	}
	for i := range out.Spec.Versions {
		v := &out.Spec.Versions[i]
		v.SelectableFields, v.Schema = nil, &definition.CustomResourceValidation{
			OpenAPIV3Schema: []byte(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`),
		}
	}
	out.Status.StoredVersions = stored
	return out
}

// refused reports the errors with which the server answers the update of the definition.
func (c *comparison) refused(ctx context.Context) {
	old, updated := c.oldCRD.DeepCopy(), c.newCRD.DeepCopy()
	old.ResourceVersion, updated.ResourceVersion = "1", "1"
	// The scope and the kind of an established definition cannot change.
	definition.SetCondition(old, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
	}, metav1.Time{})
	write := definition.Write{APIVersion: definition.V1, Old: old}
	write.Prepare(updated)
	for _, err := range write.Validate(ctx, updated) {
		if strings.HasPrefix(err.Field, "status.storedVersions") {
			// A version that is gone is a change of its own.
			continue
		}
		c.add(Change{
			Rule: refusedRule, Severity: finding.Error, Path: err.Field,
			Message: err.ErrorBody(), Reason: "the server refuses this update of the definition",
		})
	}
}

// names reports names that clients may use and that are gone.
func (c *comparison) names() {
	old, updated := c.oldCRD.Spec.Names, c.newCRD.Spec.Names
	for _, name := range old.ShortNames {
		if !slices.Contains(updated.ShortNames, name) {
			c.add(Change{
				Rule: namesRule, Severity: finding.Warning, Path: "spec.names.shortNames",
				Message: fmt.Sprintf("short name %s is gone", name), Reason: "kubectl commands that use it fail",
			})
		}
	}
	for _, category := range old.Categories {
		if !slices.Contains(updated.Categories, category) {
			c.add(Change{
				Rule: namesRule, Severity: finding.Warning, Path: "spec.names.categories",
				Message: fmt.Sprintf("category %s is gone", category), Reason: "kubectl get " + category + " no longer lists the objects",
			})
		}
	}
	if old.Singular != updated.Singular {
		c.add(Change{
			Rule: namesRule, Severity: finding.Warning, Path: "spec.names.singular",
			Message: fmt.Sprintf("changed from %s to %s", old.Singular, updated.Singular), Reason: "kubectl commands that use it fail",
		})
	}
}

// versions reports versions that are gone, new, or no longer served, and a new storage version.
func (c *comparison) versions() {
	for i := range c.oldCRD.Spec.Versions {
		old := &c.oldCRD.Spec.Versions[i]
		index := slices.IndexFunc(c.newCRD.Spec.Versions, func(v definition.CustomResourceDefinitionVersion) bool { return v.Name == old.Name })
		change := Change{Rule: versionRule, Severity: finding.Error, Path: "spec.versions", Version: old.Name}
		switch {
		case index < 0 && c.isStored(old.Name):
			change.Message = fmt.Sprintf("version %s, in which objects are stored, is gone", old.Name)
			change.Reason = "the server cannot read stored objects: first store all objects in another version"
			change.hit = everyObject
		case index < 0 && old.Served:
			change.Message = fmt.Sprintf("version %s is gone", old.Name)
			change.Reason = "clients that use this version get 404"
		case index < 0:
			change.Severity = finding.Note
			change.Message = fmt.Sprintf("version %s is gone; it was not served", old.Name)
		case old.Served && !c.newCRD.Spec.Versions[index].Served:
			change.Path = fmt.Sprintf("spec.versions[%d].served", index)
			change.Message = fmt.Sprintf("version %s is no longer served", old.Name)
			change.Reason = "clients that use this version get 404"
		default:
			continue
		}
		c.add(change)
	}
	for i := range c.newCRD.Spec.Versions {
		v := &c.newCRD.Spec.Versions[i]
		path := fmt.Sprintf("spec.versions[%d]", i)
		old := c.oldCRD.Spec.Version(v.Name)
		if old == nil {
			c.add(Change{Rule: versionRule, Severity: finding.Note, Path: path, Message: fmt.Sprintf("version %s is new", v.Name)})
		} else if v.Deprecated && !old.Deprecated {
			c.add(Change{
				Rule: versionRule, Severity: finding.Note, Path: path + ".deprecated", Version: v.Name,
				Message: fmt.Sprintf("version %s is deprecated", v.Name), Reason: "the server warns clients that use it",
			})
		}
		if v.Storage && c.oldCRD.Spec.StorageVersion() != v.Name {
			c.add(Change{
				Rule: storageRule, Severity: finding.Warning, Path: path + ".storage",
				Message: fmt.Sprintf("objects are stored in %s, not in %s", v.Name, c.oldCRD.Spec.StorageVersion()),
				Reason:  "an object stays in the old version until the next write: keep that version until all objects were written",
				hit:     everyObject,
			})
		}
	}
}

// retired reports rules of versions that are gone or no longer served, if no other version has them. The rules of versions that both
// definitions have are compared with the schemas.
func (c *comparison) retired() {
	for _, rule := range definition.RetiredRules(c.oldCRD, c.newCRD) {
		change := Change{
			Rule: loosenedRule, Severity: finding.Warning, Path: "spec.versions", Message: rule.String(), Reason: loosenedReason, hit: withField,
		}
		if rule.Annotated {
			change.Path = annotationPath
		}
		if rule.IsNoDelete() {
			change.Reason, change.hit = deletableReason, everyObject
		} else {
			// The rule held for objects of all versions.
			change.Field = rule.Path.String()
		}
		c.add(change)
	}
}

// isStored reports whether stored objects may have a version.
func (c *comparison) isStored(version string) bool {
	return version == c.oldCRD.Spec.StorageVersion() || slices.Contains(c.oldCRD.Status.StoredVersions, version)
}

// conversion reports another conversion between versions.
func (c *comparison) conversion() {
	old, updated := strategy(c.oldCRD), strategy(c.newCRD)
	change := Change{
		Rule: conversionRule, Severity: finding.Warning, Path: "spec.conversion.strategy",
		Message: fmt.Sprintf("changed from %s to %s", old, updated),
	}
	switch {
	case old == updated && reflect.DeepEqual(c.oldCRD.Spec.Conversion, c.newCRD.Spec.Conversion):
		return
	case old == updated:
		change.Path, change.Message = "spec.conversion.webhook", "the webhook changed"
		change.Reason = "the new webhook must convert every stored object"
	case updated == apiextensionsv1.NoneConverter:
		change.Severity = finding.Error
		change.Reason = "without the webhook, the server drops fields that only one of the versions has"
		change.hit = everyObject
	default:
		change.Reason = "every read and write of another version needs the webhook from now on"
	}
	c.add(change)
}

func strategy(crd *definition.CustomResourceDefinition) apiextensionsv1.ConversionStrategyType {
	if crd.Spec.Conversion == nil {
		return apiextensionsv1.NoneConverter
	}
	return crd.Spec.Conversion.Strategy
}
