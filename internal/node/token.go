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

	"holdfast.dev/holdfast/internal/projection"
)

const (
	// tokenLife is the lifetime of a token if its projection sets none.
	tokenLife = time.Hour
	// A token is replaced after tokenRefreshFraction of its lifetime, and after
	// tokenMaxAge at the latest. It is replaced up to tokenJitter earlier, so that not
	// all tokens are requested at once. The values are those of the kubelet.
	tokenRefreshFraction = 0.8
	tokenMaxAge          = 24 * time.Hour
	tokenJitter          = 10 * time.Second
	// tokenRetry is the delay before the agent requests a token again that it could
	// not replace.
	tokenRetry = 10 * time.Second
	// A token that was issued more than tokenSkew after now is replaced: the clock was set back,
	// and the server does not accept the token yet.
	tokenSkew = time.Minute
)

// tokens adds the tokens of the volume to values and next.Tokens. It reuses a token
// from the files until it is due, and requests a new one then. If that request fails,
// the old token stays; the error is returned only if there is no token or it expired.
func (r *refresh) tokens(
	ctx context.Context, wanted []*corev1.ServiceAccountTokenProjection, next *Volume, values map[string]string,
) error {
	if len(wanted) == 0 {
		return nil
	}
	a := r.agent
	now := a.Clock.Now()
	before := r.record.Volumes[r.volume.Name]
	files, err := a.Volumes.Read(r.pod.UID, r.volume.Name)
	if err == nil {
		if sum := a.digest.sum(files, before.Secret); sum != before.Digest && sum != before.Previous {
			files = nil // the files were damaged
		}
	}
	var failed []error
	for _, want := range wanted {
		path, err := projection.CleanPath(want.Path)
		if err != nil {
			continue // Collect reports it
		}
		file, inFile := files[path]
		token, known := before.Tokens[want.Path]
		have := inFile && known
		if !have || !now.Before(token.Refresh) || now.Add(tokenSkew).Before(token.Issued) {
			value, issued, err := r.request(ctx, want)
			switch {
			case err == nil:
				values[want.Path], next.Tokens[want.Path] = value, issued
				r.refreshAfter(issued.Refresh.Sub(now))
				continue
			case !have:
				failed = append(failed, err)
				continue
			}
			// The old token is valid until it expires. An expired token also stays in its
			// file, but then the error is reported.
			if !now.Before(token.Expires) {
				failed = append(failed, err)
			}
			r.refreshAfter(tokenRetry)
		} else {
			r.refreshAfter(token.Refresh.Sub(now))
		}
		values[want.Path], next.Tokens[want.Path] = string(file.Data), token
	}
	return errors.Join(failed...)
}

// refreshAfter asks for another sync of the pod after this time, and after one second
// at the earliest. The shortest time of several calls counts.
func (r *refresh) refreshAfter(after time.Duration) {
	after = max(after, time.Second)
	if r.after == 0 || after < r.after {
		r.after = after
	}
}

// request requests a new token that is bound to the pod by name and UID.
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
	use := min(time.Duration(float64(life)*tokenRefreshFraction), tokenMaxAge) - rand.N(tokenJitter)
	// Compute the refresh time from the clock of this host, because the agent compares
	// it with this clock.
	token := Token{
		Issued:  asked.UTC().Truncate(time.Second),
		Refresh: asked.Add(use).UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second),
	}
	return answer.Status.Token, token, nil
}
