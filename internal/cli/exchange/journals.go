package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/replacement/journal"
)

// Open is the error about a journal that another run has written.
type Open struct {
	Entry *journal.Entry
	// Differs says what is different in this run, if the journal names the same user.
	Differs string
}

// Error says which run it was, and what the user can do.
func (o Open) Error() string {
	text := o.Entry.Object() + ": " + Origin(o.Entry)
	if o.Differs != "" {
		text += ", but " + o.Differs
	}
	return text + ". If that run has ended, look at its journal with holdfast apply --replace --resume, and finish it with --yes"
}

// Origin says which run wrote a journal.
func Origin(entry *journal.Entry) string {
	user := entry.User
	if user == "" {
		user = "an unknown user"
	}
	if entry.Host != "" {
		user += " on " + entry.Host
	}
	return fmt.Sprintf("%s began to replace it at %s", user, entry.Begun.UTC().Format(time.RFC3339))
}

// Continues returns nil if a run may go on with the journal of an earlier run although the user has not given --resume. Every user that may write
// Secrets in the namespace can write a journal in any name, so a run only does what it would do without the journal: wanted is the object that
// the run would create, and replaced says that it would replace the stored object.
func (e *Exchanger) Continues(ctx context.Context, entry *journal.Entry, wanted *unstructured.Unstructured, replaced bool) error {
	user, err := e.User(ctx)
	if err != nil {
		return err
	}
	open := Open{Entry: entry}
	switch {
	case user == "" || entry.User != user:
		return open
	case entry.Refusal != "":
		open.Differs = "the server refused the new object, so that the old one has to be created again"
	case !apiequality.Semantic.DeepEqual(entry.New.Object, wanted.Object):
		open.Differs = "with another new object"
	case entry.Propagation != e.propagation():
		open.Differs = "with another --cascade"
	default:
		state, err := e.State(ctx, entry)
		if err != nil || replaced || state != journal.Unchanged {
			return err
		}
		open.Differs = "the object need not be replaced"
	}
	return open
}

// Find returns the open journal of an object, nil if there is none.
func (e *Exchanger) Find(ctx context.Context, resource schema.GroupResource, namespace, name string) (*journal.Entry, error) {
	key := journal.Key(resource, namespace, name)
	secret, err := e.Cluster.CoreV1().Secrets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a journal of an earlier replacement: %w", err)
	}
	return journal.Read(secret)
}

// List returns the open journals in a namespace, or in all for an empty one. The error is about those that cannot be read.
func (e *Exchanger) List(ctx context.Context, namespace string) ([]*journal.Entry, error) {
	list, err := e.Cluster.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: journal.Label + "=" + journal.LabelValue})
	if err != nil {
		return nil, err
	}
	var found []*journal.Entry
	var wrong []error
	for i := range list.Items {
		entry, err := journal.Read(&list.Items[i])
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		found = append(found, entry)
	}
	return found, errors.Join(wrong...)
}

// State says how far the replacement of a journal is.
func (e *Exchanger) State(ctx context.Context, entry *journal.Entry) (journal.State, error) {
	stored, err := e.stored(ctx, entry)
	if err != nil {
		return "", err
	}
	return entry.Judge(stored), nil
}

// begin writes the journal. If the object has one already, the error is Open.
func (e *Exchanger) begin(ctx context.Context, entry *journal.Entry) error {
	secret, err := entry.Secret()
	if err != nil {
		return err
	}
	created, err := e.Cluster.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		other, err := e.Find(ctx, entry.Resource.GroupResource(), entry.New.GetNamespace(), entry.New.GetName())
		if err == nil && other == nil {
			err = errors.New("another run has just ended its replacement: run the command again")
		}
		if err != nil {
			return err
		}
		return Open{Entry: other}
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	entry.Stored, entry.Begun = created, created.CreationTimestamp.Time
	return nil
}

// remember stores the refusal of the new object, so that every later run creates the old one again.
func (e *Exchanger) remember(ctx context.Context, entry *journal.Entry, refusal error) error {
	refused := *entry
	refused.Refusal = refusal.Error()
	secret, err := refused.Secret()
	if err != nil {
		return err
	}
	// Another run may write the same. The UID stays, so nothing is written to the journal of another replacement.
	secret.ResourceVersion = ""
	updated, err := e.Cluster.CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		// A user has deleted the journal. This run is the last that knows the old object.
	case err != nil:
		return fmt.Errorf("write to the journal that the server refused the new object (%w): %w", refusal, err)
	default:
		refused.Stored = updated
	}
	*entry = refused
	return nil
}

// end removes the journal.
func (e *Exchanger) end(ctx context.Context, secret *corev1.Secret) error {
	err := e.Cluster.CoreV1().Secrets(secret.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(secret.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove the journal, the Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}
