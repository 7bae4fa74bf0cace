package authorship

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// ServerSecret is the name of the Secret in kube-system with the keys of our own server.
const ServerSecret = "operator-records"

// firstKey is the name of the first key in a Secret.
const firstKey = "key-1"

// SecretKeys returns a function for NewKeyring that reads the keys from a Secret. The key
// with the last name, in the order of bytes, seals. If there is no Secret, or it is empty,
// the function generates a key. Several processes may do this at the same time; all of them
// use the key that is stored first.
func SecretKeys(client kubernetes.Interface, namespace, name string) func(context.Context) ([][]byte, error) {
	secrets := client.CoreV1().Secrets(namespace)
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return func(ctx context.Context) ([][]byte, error) {
		var found *corev1.Secret
		err := retry.OnError(retry.DefaultBackoff, raced, func() (err error) {
			if found, err = secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && len(found.Data) > 0 {
				return nil
			}
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			generated := map[string][]byte{firstKey: newSecret()}
			if err == nil {
				found.Data = generated
				found, err = secrets.Update(ctx, found, metav1.UpdateOptions{})
				return err
			}
			found, err = secrets.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: generated,
			}, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return nil, err
		}
		var keys [][]byte
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(found.Data))) {
			keys = append(keys, found.Data[name])
		}
		return keys, nil
	}
}

// newSecret returns a new random key.
func newSecret() []byte {
	secret := make([]byte, KeySize)
	_, _ = rand.Read(secret) // it never fails
	return secret
}
