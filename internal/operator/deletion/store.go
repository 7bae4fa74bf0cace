package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

const (
	// prefix is the start of the names of the ConfigMaps; the UID of the Instance follows.
	prefix = "instance-deletion-"
	// label marks the ConfigMaps in which the manager records the users that delete Instances.
	label = "holdfast.dev/instance-deletion"
	// sealedKey, namespaceKey and nameKey are the keys of their data.
	sealedKey, namespaceKey, nameKey = "sealed", "namespace", "name"

	// lead is the longest time between the admission of a DELETE and the deletion, with the
	// difference of the clocks of two hosts.
	lead = 5 * time.Minute
)

// controllers are the users of the controllers of a cluster that delete objects because of
// other objects: owners and namespaces.
var controllers = []string{
	"system:apiserver", "system:kube-controller-manager",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
}

// Deletion names the user that deleted an Instance.
type Deletion struct {
	// Controller means that a controller of the cluster deleted the Instance, and By is
	// empty.
	Controller bool            `json:"controller,omitempty"`
	By         authorship.User `json:"by"`
	// At is the time of the record.
	At time.Time `json:"at"`
}

// Store holds the records of one cluster.
type Store struct {
	maps      corev1client.ConfigMapInterface
	namespace string
	keys      *authorship.Keyring
}

// NewStore returns a Store with its ConfigMaps in a namespace. The client needs the rights to
// get, list, create, update and delete them.
func NewStore(client kubernetes.Interface, namespace string, keys *authorship.Keyring) *Store {
	return &Store{maps: client.CoreV1().ConfigMaps(namespace), namespace: namespace, keys: keys}
}

// subject returns what the record of an Instance is about.
func subject(instance *api.Instance) authorship.Subject {
	return authorship.Subject{Purpose: "deletion of an Instance", About: []string{
		instance.Namespace, instance.Name, string(instance.UID),
	}}
}

// Record records that a user deletes an Instance. It does nothing if the Instance is being
// deleted already and has a record that counts.
func (s *Store) Record(ctx context.Context, instance *api.Instance, by authorship.User) error {
	deletion := Deletion{By: by, At: time.Now()}
	if slices.Contains(controllers, by.Username) {
		deletion = Deletion{Controller: true, At: deletion.At}
	}
	sealed, err := s.keys.Seal(ctx, subject(instance), deletion)
	if err != nil {
		return err
	}
	wanted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: prefix + string(instance.UID), Namespace: s.namespace, Labels: map[string]string{label: "true"},
		},
		Data: map[string]string{sealedKey: sealed, namespaceKey: instance.Namespace, nameKey: instance.Name},
	}
	raced := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
	}
	err = retry.OnError(retry.DefaultBackoff, raced, func() error { return s.store(ctx, instance, wanted) })
	if err != nil {
		err = fmt.Errorf("record of the user that deletes instance %s/%s: %w", instance.Namespace, instance.Name, err)
		return connection.TryAgain(err, api.GroupVersion.WithResource("instances").GroupResource(), "delete")
	}
	return nil
}

func (s *Store) store(ctx context.Context, instance *api.Instance, wanted *corev1.ConfigMap) error {
	if err := failpoint.Fail("deletion:record"); err != nil {
		return err
	}
	found, err := s.maps.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = s.maps.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if instance.DeletionTimestamp != nil {
		if _, err := s.open(ctx, instance, found); !errors.Is(err, authorship.ErrUnverified) {
			return err
		}
	}
	found = found.DeepCopy()
	found.Labels, found.Data = wanted.Labels, wanted.Data
	_, err = s.maps.Update(ctx, found, metav1.UpdateOptions{})
	return err
}

// Get returns the record of an Instance that is being deleted. The error is
// authorship.ErrUnverified if there is none that counts.
func (s *Store) Get(ctx context.Context, instance *api.Instance) (Deletion, error) {
	found, err := s.maps.Get(ctx, prefix+string(instance.UID), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Deletion{}, authorship.ErrUnverified
	}
	if err != nil {
		return Deletion{}, err
	}
	return s.open(ctx, instance, found)
}

// open returns the content of a record, if it counts.
func (s *Store) open(ctx context.Context, instance *api.Instance, found *corev1.ConfigMap) (Deletion, error) {
	var deletion Deletion
	if err := s.keys.Open(ctx, subject(instance), found.Data[sealedKey], &deletion); err != nil {
		return Deletion{}, err
	}
	if instance.DeletionTimestamp == nil || deletion.At.Before(instance.DeletionTimestamp.Add(-lead)) {
		return Deletion{}, authorship.ErrUnverified
	}
	return deletion, nil
}

// Forget deletes the record of an Instance that is gone.
func (s *Store) Forget(ctx context.Context, instance types.UID) error {
	if err := failpoint.Fail("deletion:forget"); err != nil {
		return err
	}
	err := s.maps.Delete(ctx, prefix+string(instance), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Sweep deletes the records of Instances that do not exist. exists reports whether an
// Instance exists, by namespace, name and UID.
func (s *Store) Sweep(ctx context.Context, exists func(namespace, name string, uid types.UID) (bool, error)) error {
	list, err := s.maps.List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	var failed []error
	for i := range list.Items {
		item := &list.Items[i]
		uid := types.UID(item.Name[min(len(prefix), len(item.Name)):])
		found, err := exists(item.Data[namespaceKey], item.Data[nameKey], uid)
		if err == nil && !found {
			err = s.Forget(ctx, uid)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
