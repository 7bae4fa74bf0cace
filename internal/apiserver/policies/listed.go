package policies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/value"
)

const (
	// SourceAnnotation is the annotation of policies that the server stores because a file has them: clients list them, and the
	// server enforces the file.
	SourceAnnotation = "holdfast.dev/source"
	// FileAnnotation is the annotation with the name of the file.
	FileAnnotation = "holdfast.dev/source-file"
	// FilesAnnotation is the annotation of the Lease of a server with a digest of its files in --rules-dir. With it, doctor finds servers
	// that enforce different rules.
	FilesAnnotation = "holdfast.dev/rules-files"
	// WrongAnnotation is the annotation of the Lease of a server that says why the files in --rules-dir are not in force as they are.
	WrongAnnotation = "holdfast.dev/rules-files-wrong"
	// noFiles is the value of FilesAnnotation of a server without --rules-dir, and maxProblem the maximum length of WrongAnnotation.
	noFiles, maxProblem = "none", 500
	// sourceFile is the value of SourceAnnotation.
	sourceFile = "file"
)

// LeaseAnnotations returns the annotations of the Lease of this server. An empty value means that the Lease has none.
func (r *Rules) LeaseAnnotations() map[string]string {
	return map[string]string{
		FilesAnnotation: cmp.Or(r.files.latest().digest, noFiles), WrongAnnotation: value.CutBytes(*r.files.problem.Load(), maxProblem),
	}
}

// isFromFile reports whether the server stored a policy because a file has it.
func isFromFile(obj metav1.Object) bool { return obj.GetAnnotations()[SourceAnnotation] == sourceFile }

// write stores the policies of the files, and deletes those whose file is gone. It leaves a policy alone that a client has stored
// with the name of one in a file.
func (s *fileSet) write(ctx context.Context, policies dynamic.ResourceInterface, all *unstructured.UnstructuredList) error {
	missing := maps.Clone(s.files)
	for i := range all.Items {
		obj := &all.Items[i]
		wanted := s.files[obj.GetName()]
		delete(missing, obj.GetName())
		var err error
		switch {
		case !isFromFile(obj):
		case wanted == nil:
			err = policies.Delete(ctx, obj.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(obj.GetUID()))})
		case !wanted.isStored(obj):
			var updated *unstructured.Unstructured
			if updated, err = wanted.object(); err == nil {
				updated.SetResourceVersion(obj.GetResourceVersion())
				_, err = policies.Update(ctx, updated, metav1.UpdateOptions{})
			}
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("policy %s of a file: %w", obj.GetName(), err)
		}
	}
	for name, wanted := range missing {
		obj, err := wanted.object()
		if err == nil {
			_, err = policies.Create(ctx, obj, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("policy %s of a file: %w", name, err)
		}
	}
	return nil
}

// object returns the object that the server stores.
func (f *filePolicy) object() (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&f.policy.Spec)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	obj.SetGroupVersionKind(policy.Policies().GroupVersion().WithKind("ImmutabilityPolicy"))
	obj.SetName(f.policy.Name)
	obj.SetLabels(f.policy.Labels)
	obj.SetAnnotations(f.policy.Annotations)
	return obj, nil
}

// isStored reports whether a stored policy is that of the file.
func (f *filePolicy) isStored(obj *unstructured.Unstructured) bool {
	stored, err := policy.Decode(obj)
	return err == nil && reflect.DeepEqual(stored.Spec, f.policy.Spec) && stored.Annotations[FileAnnotation] == f.file
}

// reportFile completes what the table says about a stored policy that has the name of one in a file.
func (t *table) reportFile(obj *unstructured.Unstructured, read *fileSet) {
	wanted := read.files[obj.GetName()]
	if wanted == nil {
		return
	}
	said := t.Reports[obj.GetName()]
	if !isFromFile(obj) {
		said = policy.Report{Problems: []string{"without effect: the file " + wanted.file + " of --rules-dir has a policy with this name"}}
	} else if !wanted.isStored(obj) {
		return
	}
	said.Generation, said.UID = obj.GetGeneration(), obj.GetUID()
	t.Reports[obj.GetName()] = said
}
