package owners

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
)

// each calls do with the metadata of each selected object of a kind. It reads the objects in pages, without their content. If the
// user may not list them, each writes a note.
func (s selection) each(
	ctx context.Context, client metadata.Interface, of kind, do func(*metav1.PartialObjectMetadata) error, notes io.Writer,
) error {
	objects := of.client(client, "")
	if of.namespaced && !s.allNamespaces {
		objects = of.client(client, s.namespace)
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return objects.List(ctx, options)
	})
	stopped := error(nil)
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: s.labels}, func(obj runtime.Object) error {
		one, ok := obj.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("list %s: not metadata but %T", of.GroupResource(), obj)
		}
		stopped = do(one)
		return stopped
	})
	switch {
	case stopped != nil:
		return stopped
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
		fmt.Fprintf(notes, "note: skipped %s: %v\n", of.GroupResource(), err)
		return nil
	case err != nil:
		return fmt.Errorf("list %s: %w", of.GroupResource(), err)
	}
	return nil
}

// client returns the client of the objects of a kind in a namespace, or in all.
func (k kind) client(client metadata.Interface, namespace string) metadata.ResourceInterface {
	if !k.namespaced || namespace == "" {
		return client.Resource(k.GroupVersionResource)
	}
	return client.Resource(k.GroupVersionResource).Namespace(namespace)
}

// nameOf returns the name of an object, in the form that a command line of kubectl takes.
func nameOf(of schema.GroupResource, namespace, name string) string {
	text := of.String() + "/" + name
	if namespace != "" {
		text += " -n " + namespace
	}
	return text
}

// isAnswer reports whether an error is an answer of the server about one request. Other errors mean that no answer came.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
