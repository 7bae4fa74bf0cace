package revocation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// Client reads and writes the list on a server.
type Client struct {
	// DryRun is the field dryRun of the requests of Edit. With ReadOnly, Edit sends no write.
	DryRun   []string
	ReadOnly bool
	stored   coreclient.ConfigMapInterface
}

// NewClient returns a client of the server that getter writes to.
func NewClient(getter coreclient.ConfigMapsGetter) *Client {
	return &Client{stored: getter.ConfigMaps(Namespace)}
}

// Get returns the entries of the list. The list is empty if the server has none.
func (c *Client) Get(ctx context.Context) ([]Entry, error) {
	stored, err := c.stored.Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of revoked credentials: %w", err)
	}
	return Parse(stored.Data[Key])
}

// Edit replaces the entries by the result of a function, and creates the list if the server has
// none. If another client changes the list at the same time, Edit calls the function again. The
// function may change its argument.
func (c *Client) Edit(ctx context.Context, edit func([]Entry) ([]Entry, error)) error {
	isRetried := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, isRetried, func() error {
		stored, err := c.stored.Get(ctx, Name, metav1.GetOptions{})
		write := func(changed *corev1.ConfigMap) error {
			_, err := c.stored.Update(ctx, changed, metav1.UpdateOptions{DryRun: c.DryRun})
			return err
		}
		switch {
		case apierrors.IsNotFound(err):
			stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}}
			write = func(created *corev1.ConfigMap) error {
				_, err := c.stored.Create(ctx, created, metav1.CreateOptions{DryRun: c.DryRun})
				return err
			}
		case err != nil:
			return fmt.Errorf("read the list of revoked credentials: %w", err)
		}
		entries, err := Parse(stored.Data[Key])
		if err != nil {
			return err
		}
		if entries, err = edit(entries); err != nil || c.ReadOnly {
			return err
		}
		text, err := Format(entries)
		if err != nil {
			return err
		}
		stored.Data = map[string]string{Key: text}
		return write(stored)
	})
}
