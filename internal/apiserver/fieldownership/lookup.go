package fieldownership

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lookup reports whether an object still exists.
type Lookup func(ctx context.Context, object Object) (bool, error)

// LookupAt returns a Lookup that asks the server at host.
func LookupAt(client *http.Client, host string) Lookup {
	return func(ctx context.Context, object Object) (bool, error) {
		at, err := url.Parse(host)
		if err != nil {
			return false, err
		}
		// The name of a role may hold characters that URLs reserve. Set as Path, they are
		// escaped.
		at.Path = object.Path
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
		if err != nil {
			return false, err
		}
		req.Header.Set("Accept", asMetadata)
		resp, err := client.Do(req)
		if err != nil {
			return false, err
		}
		defer func() { _ = resp.Body.Close() }()
		switch resp.StatusCode {
		case http.StatusNotFound:
			return false, nil
		case http.StatusOK:
		default:
			return false, fmt.Errorf("the server answers %s", resp.Status)
		}
		var found metav1.PartialObjectMetadata
		if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
			return false, err
		}
		return found.UID == object.UID, nil
	}
}
