package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/native"
)

// Dependent is a stored object with an owner reference to another one.
type Dependent struct {
	Resource schema.GroupResource
	Metadata metav1.ObjectMeta
}

// Dependents returns the objects that have an owner reference to a UID, in one namespace or, with an empty namespace, in all. It reads all
// stored objects except Events, which have no owners, and decodes those that contain the UID.
func (r Readable) Dependents(ctx context.Context, owner types.UID, namespace string) ([]Dependent, error) {
	resources, err := r.resources(ctx, namespace != "")
	if err != nil {
		return nil, err
	}
	var found []Dependent
	for _, resource := range resources {
		_, err := r.Visit(ctx, Part{Resource: resource, Namespace: namespace}, func(stored Stored) error {
			if !bytes.Contains(stored.Text, []byte(owner)) {
				return nil
			}
			metadata, err := stored.fullMetadata()
			if err == nil && slices.ContainsFunc(metadata.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner }) {
				found = append(found, Dependent{resource, metadata})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", resource, err)
		}
	}
	return found, nil
}

// resources returns the resources with stored objects, those of built-in kinds first.
func (r Readable) resources(ctx context.Context, namespaced bool) ([]schema.GroupResource, error) {
	var all []schema.GroupResource
	for _, kind := range native.Kinds() {
		if kind.Resource != "events" && (!namespaced || kind.Scope != native.Cluster) {
			all = append(all, kind.GroupResource())
		}
	}
	prefix := KeyPrefix + "/" + customPrefix(definitions) + "/"
	names, err := r.Client.Keys(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if !namespaced && len(names) > 0 {
		all = append(all, definitions)
	}
	for _, name := range names {
		all = append(all, schema.ParseGroupResource(strings.TrimPrefix(name, prefix)))
	}
	return all, nil
}

// fullMetadata returns the metadata of an object that is stored as JSON or protobuf.
func (s Stored) fullMetadata() (metav1.ObjectMeta, error) {
	message, ok := bytes.CutPrefix(s.Text, []byte("k8s\x00"))
	if !ok {
		partial, err := s.metadata()
		return partial.ObjectMeta, err
	}
	var unknown runtime.Unknown
	var object metav1.PartialObjectMetadata
	err := unknown.Unmarshal(message)
	if err == nil {
		// The metadata of every kind is field 1. The others are skipped.
		err = object.Unmarshal(unknown.Raw)
	}
	if err != nil {
		return metav1.ObjectMeta{}, fmt.Errorf("decode %s: %w", strings.TrimPrefix(s.key, KeyPrefix+"/"), err)
	}
	object.ResourceVersion = strconv.FormatInt(s.Revision, 10)
	return object.ObjectMeta, nil
}
