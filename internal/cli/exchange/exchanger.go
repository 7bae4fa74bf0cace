package exchange

import (
	"context"
	"fmt"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/replacement/journal"
)

// Exchanger replaces objects on one server. Its fields must not be changed during a call.
type Exchanger struct {
	Objects dynamic.Interface
	Cluster kubernetes.Interface
	// FieldManager is the manager of the fields of new objects.
	FieldManager string
	// AllowDataLoss has the objects, as KIND/NAME, whose data may be lost.
	AllowDataLoss []string
	// Propagation says what the server does with the dependents of old objects. It is background by default.
	Propagation metav1.DeletionPropagation
	// Patience is how long an Exchanger waits until finalizers are removed, and until a server that cannot create an object now can do it. It
	// is defaultPatience by default.
	Patience time.Duration
}

// defaultPatience is as long as a webhook or a controller that restarts takes.
const defaultPatience = 30 * time.Second

// Target is a replacement to be made.
type Target struct {
	Resource schema.GroupVersionResource
	// Old is the stored object, with UID and resourceVersion, in the version of Resource.
	Old *unstructured.Unstructured
	// New is the new object, with the annotation of client-side apply.
	New *unstructured.Unstructured
	// Trial is the object of the dry run of the create. It is New without what the server cannot allocate as long as the old object has it.
	Trial *unstructured.Unstructured
}

// Result is what a replacement has done.
type Result struct {
	// UID is that of the object that was created.
	UID types.UID
	// Absent is how long no object was stored, at most.
	Absent time.Duration
}

// Seconds returns a duration in seconds, with three digits.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

func (e *Exchanger) patience() time.Duration {
	if e.Patience > 0 {
		return e.Patience
	}
	return defaultPatience
}

func (e *Exchanger) propagation() metav1.DeletionPropagation {
	if e.Propagation != "" {
		return e.Propagation
	}
	return metav1.DeletePropagationBackground
}

// client returns the client of the resource in a namespace, which is empty if the object is in none.
func (e *Exchanger) client(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return e.Objects.Resource(resource)
	}
	return e.Objects.Resource(resource).Namespace(namespace)
}

// stored returns the object of a journal that the server has, nil if it has none.
func (e *Exchanger) stored(ctx context.Context, entry *journal.Entry) (*unstructured.Unstructured, error) {
	found, err := e.client(entry.Resource, entry.New.GetNamespace()).Get(ctx, entry.New.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// User returns the name under which the server knows the user. It is empty if the server does not say it.
func (e *Exchanger) User(ctx context.Context) (string, error) {
	review, err := e.Cluster.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil // Kubernetes before 1.28
	}
	if err != nil {
		return "", fmt.Errorf("ask the server for the name of the user: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// entry returns the journal of a replacement that is to be made.
func (e *Exchanger) entry(target Target, user string) *journal.Entry {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	entry := &journal.Entry{
		Resource: target.Resource, UID: target.Old.GetUID(), ResourceVersion: target.Old.GetResourceVersion(),
		Old: journal.Creatable(target.Old), New: target.New, User: user, Host: host, FieldManager: e.FieldManager, Propagation: e.propagation(),
	}
	return entry
}
