package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedauthenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/simulation"
)

// simStore has one object and its journal. It keeps what it needs to judge the runs.
type simStore struct {
	mu       sync.Mutex
	revision int
	object   *unstructured.Unstructured
	journal  *corev1.Secret
	// refused is the level of objects that the server does not create, empty for none.
	refused string
	// deletedByUser says that a user has deleted the object, so that none need be stored.
	deletedByUser bool
	// madeFor is the UID of the journal that has the stored object as a run has created it, empty if there is none.
	madeFor types.UID
	wrong   error
}

// next returns the next revision, which also names a new object.
func (s *simStore) next() string {
	s.revision++
	return strconv.Itoa(s.revision)
}

// create stores an object if there is none.
func (s *simStore) create(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if s.object != nil {
		return nil, apierrors.NewAlreadyExists(configMaps.GroupResource(), "a")
	}
	if level := levelOf(object); level == s.refused {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", field.ErrorList{field.Forbidden(field.NewPath("data"), level)})
	}
	s.object = object.DeepCopy()
	s.object.SetResourceVersion(s.next())
	s.object.SetUID(types.UID("u" + s.object.GetResourceVersion()))
	s.object.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	s.deletedByUser, s.madeFor = false, ""
	if s.journal == nil {
		return s.object.DeepCopy(), nil
	}
	entry, err := journal.Read(s.journal)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(entry.New.Object, object.Object) || entry.Refusal != "" && reflect.DeepEqual(entry.Old.Object, object.Object) {
		s.madeFor = s.journal.UID
	}
	return s.object.DeepCopy(), nil
}

func levelOf(object *unstructured.Unstructured) string {
	level, _, _ := unstructured.NestedString(object.Object, "data", "level")
	return level
}

// check returns an error if an object is lost: none is stored, and no journal has it.
func (s *simStore) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil && s.object == nil && s.journal == nil && !s.deletedByUser {
		return errors.New("no object is stored, no journal has it, and no user has deleted it")
	}
	return s.wrong
}

// simClient has the clients of one run.
type simClient struct {
	kubernetes.Interface
	typedcorev1.CoreV1Interface
	typedauthenticationv1.AuthenticationV1Interface
	world *simulation.World
	store *simStore
	name  string
}

// request waits for the scheduler. A request may fail, or its answer may be lost.
func (c *simClient) request(ctx context.Context, what string, do func() error) error {
	random, err := c.world.Wait(ctx, what+" in "+c.name)
	if err != nil {
		return err
	}
	fate := 100
	if random != nil {
		fate = random.IntN(100)
	}
	if fate < 4 {
		return apierrors.NewServerTimeout(configMaps.GroupResource(), "request", 1)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if err := do(); err != nil || fate >= 8 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// CoreV1 implements kubernetes.Interface.
func (c *simClient) CoreV1() typedcorev1.CoreV1Interface { return c }

// AuthenticationV1 implements kubernetes.Interface.
func (c *simClient) AuthenticationV1() typedauthenticationv1.AuthenticationV1Interface { return c }

// RESTClient is a method of both groups, which no run calls.
func (c *simClient) RESTClient() (client rest.Interface) { return client }

// SelfSubjectReviews implements typedauthenticationv1.SelfSubjectReviewsGetter.
func (c *simClient) SelfSubjectReviews() typedauthenticationv1.SelfSubjectReviewInterface {
	return simReviews{}
}

// Secrets implements typedcorev1.SecretsGetter.
func (c *simClient) Secrets(string) typedcorev1.SecretInterface { return simJournals{simClient: c} }

// simReviews answers that the user is jane.
type simReviews struct {
	typedauthenticationv1.SelfSubjectReviewInterface
}

// Create implements typedauthenticationv1.SelfSubjectReviewInterface.
func (simReviews) Create(context.Context, *authenticationv1.SelfSubjectReview, metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error) {
	return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
		UserInfo: authenticationv1.UserInfo{Username: "jane"},
	}}, nil
}

// simObjects is the dynamic client of a run.
type simObjects struct {
	dynamic.NamespaceableResourceInterface
	*simClient
}

// Resource implements dynamic.Interface.
func (o simObjects) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return o
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (o simObjects) Namespace(string) dynamic.ResourceInterface { return o }

// Get implements dynamic.ResourceInterface.
func (o simObjects) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (found *unstructured.Unstructured, err error) {
	err = o.request(ctx, "reads the object", func() error {
		if o.store.object == nil {
			return apierrors.NewNotFound(configMaps.GroupResource(), name)
		}
		found = o.store.object.DeepCopy()
		return nil
	})
	return found, err
}

// Create implements dynamic.ResourceInterface.
func (o simObjects) Create(
	ctx context.Context, object *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string,
) (stored *unstructured.Unstructured, err error) {
	err = o.request(ctx, "creates level "+levelOf(object), func() error {
		stored, err = o.store.create(object)
		return err
	})
	return stored, err
}

// Delete implements dynamic.ResourceInterface.
func (o simObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, _ ...string) error {
	return o.request(ctx, "deletes the object", func() error {
		s, p := o.store, options.Preconditions
		switch {
		case p == nil || p.UID == nil || p.ResourceVersion == nil:
			return errors.New("a run deletes only with preconditions")
		case s.object == nil:
			return apierrors.NewNotFound(configMaps.GroupResource(), name)
		case s.object.GetUID() != *p.UID || s.object.GetResourceVersion() != *p.ResourceVersion:
			return apierrors.NewConflict(configMaps.GroupResource(), name, errors.New("the precondition is not met"))
		case s.journal == nil:
			s.wrong = fmt.Errorf("%s deletes the object, and there is no journal", o.name)
		}
		s.object = nil
		return nil
	})
}

// simJournals has the journal.
type simJournals struct {
	typedcorev1.SecretInterface
	*simClient
}

// Get implements typedcorev1.SecretInterface.
func (j simJournals) Get(ctx context.Context, name string, _ metav1.GetOptions) (found *corev1.Secret, err error) {
	err = j.request(ctx, "reads the journal", func() error {
		if j.store.journal == nil {
			return apierrors.NewNotFound(corev1.Resource("secrets"), name)
		}
		found = j.store.journal.DeepCopy()
		return nil
	})
	return found, err
}

// Create implements typedcorev1.SecretInterface.
func (j simJournals) Create(ctx context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (stored *corev1.Secret, err error) {
	err = j.request(ctx, "writes the journal", func() error {
		if j.store.journal != nil {
			return apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
		}
		created := secret.DeepCopy()
		created.ResourceVersion = j.store.next()
		created.UID, created.CreationTimestamp = types.UID("j"+created.ResourceVersion), metav1.NewTime(time.Now())
		j.store.journal, stored = created, created.DeepCopy()
		return nil
	})
	return stored, err
}

// Update implements typedcorev1.SecretInterface.
func (j simJournals) Update(ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (stored *corev1.Secret, err error) {
	err = j.request(ctx, "writes the refusal", func() error {
		switch {
		case j.store.journal == nil:
			return apierrors.NewNotFound(corev1.Resource("secrets"), secret.Name)
		case secret.UID != j.store.journal.UID:
			return apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, errors.New("another UID"))
		}
		changed := secret.DeepCopy()
		changed.ResourceVersion = j.store.next()
		j.store.journal, stored = changed, changed.DeepCopy()
		return nil
	})
	return stored, err
}

// Delete implements typedcorev1.SecretInterface.
func (j simJournals) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return j.request(ctx, "removes the journal", func() error {
		switch p := options.Preconditions; {
		case j.store.journal == nil:
			return apierrors.NewNotFound(corev1.Resource("secrets"), name)
		case p == nil || p.UID == nil || *p.UID != j.store.journal.UID:
			return apierrors.NewConflict(corev1.Resource("secrets"), name, errors.New("another UID"))
		}
		j.store.journal = nil
		return nil
	})
}
