package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// tokenLife is the life of a token whose projection does not say.
	tokenLife = time.Hour
	// A token is replaced when this part of its life is over, and at the latest
	// after a day; a little earlier by chance, so that not all come at once. The
	// figures are the kubelet's.
	tokenUse    = 0.8
	tokenLatest = 24 * time.Hour
	tokenSpread = 10 * time.Second
	// tokenRetry is when a token is asked for again that could not be replaced.
	tokenRetry = 10 * time.Second
)

// tokens fills in the tokens of a volume: those in its files as long as they are
// fresh, and new ones then. One that cannot be replaced stays.
func (r *refresh) tokens(ctx context.Context, wanted []*corev1.ServiceAccountTokenProjection, next *Volume, values map[string]string) error {
	if len(wanted) == 0 {
		return nil
	}
	a := r.agent
	now := a.Clock.Now()
	before := r.record.Volumes[r.volume.Name]
	files, err := a.Volumes.Read(r.pod.UID, r.volume.Name)
	if err == nil {
		if sum := a.digest.sum(files, before.Secret); sum != before.Digest && sum != before.Previous {
			files = nil // not what was written
		}
	}
	var failed []error
	for _, want := range wanted {
		file, inFile := files[want.Path]
		token, known := before.Tokens[want.Path]
		have := inFile && known
		if !have || !now.Before(token.Refresh) {
			value, issued, err := r.request(ctx, want)
			switch {
			case err == nil:
				values[want.Path], next.Tokens[want.Path] = value, issued
				r.due(issued.Refresh.Sub(now))
				continue
			case !have:
				failed = append(failed, err)
				continue
			}
			// It is good until it expires, and nothing is better than it then.
			if !now.Before(token.Expires) {
				failed = append(failed, err)
			}
			r.due(tokenRetry)
		} else {
			r.due(token.Refresh.Sub(now))
		}
		values[want.Path], next.Tokens[want.Path] = string(file.Data), token
	}
	return errors.Join(failed...)
}

// due asks for another look after a time.
func (r *refresh) due(after time.Duration) {
	after = max(after, time.Second)
	if r.again == 0 || after < r.again {
		r.again = after
	}
}

// request gets a new token, bound to this very pod.
func (r *refresh) request(ctx context.Context, want *corev1.ServiceAccountTokenProjection) (string, Token, error) {
	account := r.pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(ptr.Deref(want.ExpirationSeconds, int64(tokenLife/time.Second))),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: r.pod.Name, UID: r.pod.UID},
	}}
	if want.Audience != "" {
		request.Spec.Audiences = []string{want.Audience}
	}
	asked := r.agent.Clock.Now()
	answer, err := r.agent.Client.CoreV1().ServiceAccounts(r.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", Token{}, fmt.Errorf("token of service account %s/%s: %w", r.pod.Namespace, account, err)
	}
	expires := answer.Status.ExpirationTimestamp.Time
	life := time.Duration(ptr.Deref(answer.Spec.ExpirationSeconds, 0)) * time.Second
	if life <= 0 {
		life = expires.Sub(asked)
	}
	use := min(time.Duration(float64(life)*tokenUse), tokenLatest) - rand.N(tokenSpread)
	// By this host's clock: it is what tells when the time has come.
	token := Token{Refresh: asked.Add(use).UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second)}
	return answer.Status.Token, token, nil
}
