package verdict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/definition"
)

// Judge judges the objects of one definition.
type Judge struct {
	versions map[string]*definition.Compiled
	// storage judges all objects. It is empty if a webhook converts objects: each is then judged by the version in which it is stored,
	// because a call of the webhook for every object would be a load that no client asked for.
	storage string

	mu sync.Mutex
	// texts has what causes need of the schemas, by version.
	texts map[string]*texts
}

// Compile returns the judge of a definition. The result shares memory with it.
func Compile(crd *definition.CustomResourceDefinition) (*Judge, error) {
	versions, err := definition.CompileForReads(crd)
	if err != nil {
		return nil, err
	}
	return New(crd, versions), nil
}

// New is Compile for a definition whose versions are compiled already, by name.
func New(crd *definition.CustomResourceDefinition, versions map[string]*definition.Compiled) *Judge {
	j := &Judge{versions: versions, texts: map[string]*texts{}}
	if crd.Spec.ConvertsNothing() {
		j.storage = crd.Spec.StorageVersion()
	}
	return j
}

// Refusal is a reason for which the server refuses an object.
type Refusal struct {
	// Path is the field, as Kubernetes writes it. It is empty for the object as a whole.
	Path string
	// Message says what is wrong. It may have values of the object.
	Message string

	version string
	// kind and detail are those of the error of Kubernetes. kind is empty if the message has no data of the object.
	kind   field.ErrorType
	detail string
}

// Judge returns the reasons for which a server would refuse an object of any stored version. There are none if it would accept the object.
func (j *Judge) Judge(ctx context.Context, object map[string]any) []Refusal {
	stored := VersionOf(object)
	version := j.versions[stored]
	if version == nil {
		return []Refusal{{Message: fmt.Sprintf("the definition has no version %s, in which the object is stored", stored)}}
	}
	complete := Complete(version, object)
	if storage := j.versions[j.storage]; storage != nil && storage != version {
		complete["apiVersion"] = storage.Kind.GroupVersion().String()
		complete, version = Complete(storage, complete), storage
	}
	return slices.DeleteFunc(Refusals(ctx, version, complete), func(r Refusal) bool { return r.detail == definition.RulesNotChecked })
}

// VersionOf returns the version of an object.
func VersionOf(object map[string]any) string {
	apiVersion, _ := object["apiVersion"].(string)
	return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
}

// Complete returns a copy of an object as a GET returns it.
func Complete(version *definition.Compiled, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	if version.Pruned {
		version.Skeleton.Prune(out)
	}
	version.Skeleton.Default(out)
	version.Skeleton.Normalize(out)
	return out
}

// Refusals returns the reasons for which the server would refuse to create an object of a version.
func Refusals(ctx context.Context, version *definition.Compiled, object map[string]any) []Refusal {
	var out []Refusal
	for _, wrong := range version.Skeleton.Check(object) {
		out = append(out, Refusal{
			Path: wrong.Path, Message: "must be of type " + wrong.Want + ", not " + wrong.Got, version: version.Kind.Version,
		})
	}
	if len(out) > 0 {
		return out
	}
	for _, err := range version.Validate(ctx, object, nil) {
		out = append(out, Refusal{
			Path: strings.TrimPrefix(err.Field, "<nil>"), Message: err.ErrorBody(), version: version.Kind.Version, kind: err.Type, detail: err.Detail,
		})
	}
	return out
}
