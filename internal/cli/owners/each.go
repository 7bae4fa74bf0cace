package owners

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// pageSize is how many objects a command reads with one request, and holds at a time.
const pageSize = 250

// eachPage calls do for each page of the objects with some labels. If a page is asked for too late, because the server has compacted its
// history meanwhile, the list goes on with the state of a later time, as the server proposes.
func eachPage[L metav1.ListInterface](
	ctx context.Context, selector string, list func(context.Context, metav1.ListOptions) (L, error), do func(L) error,
) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := list(ctx, options)
		if next := proposed(err); next != "" && options.Continue != "" {
			options.Continue = next
			continue
		}
		if err != nil {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// proposed returns the token with which a list goes on after an error, "" if there is none.
func proposed(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// each calls do with the metadata of each selected object of a kind. It reads the objects in pages, without their content. If the
// user may not list them, each writes a note.
func (s selection) each(
	ctx context.Context, client metadata.Interface, of kind, do func(*metav1.PartialObjectMetadata) error, notes io.Writer,
) error {
	objects := of.client(client, "")
	if of.namespaced && !s.allNamespaces {
		objects = of.client(client, s.namespace)
	}
	stopped := error(nil)
	err := eachPage(ctx, s.labels, objects.List, func(page *metav1.PartialObjectMetadataList) error {
		for i := range page.Items {
			if stopped = do(&page.Items[i]); stopped != nil {
				return stopped
			}
		}
		return nil
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
