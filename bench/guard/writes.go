package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

const (
	shipsPath = "/apis/example.com/v1/namespaces/default/ships"
	shipPath  = shipsPath + "/random"
)

// maxFailed is the number of unexplained differences after which compareWrites ends.
const maxFailed = 5

// writesPerShip is the number of writes after which the ship is replaced by another one.
const writesPerShip = 12

// compareWrites makes random writes on all clusters. The first is our server.
func (t *trial) compareWrites(ctx context.Context, clusters []*cluster) error {
	accepted, refused := 0, 0
	var failed []error
	var created map[string]object
	for i := range t.Writes {
		if i%writesPerShip == 0 || created == nil {
			var err error
			if created, err = t.recreate(ctx, clusters); err != nil {
				return err
			}
		}
		before, err := read(ctx, clusters[0], shipPath)
		if err != nil {
			return err
		}
		spec, _ := before["spec"].(object)
		next := t.nextWrite(spec)
		ours, err := next.send(ctx, clusters[0], created[clusters[0].name])
		if err != nil {
			return err
		}
		if ours.accepted {
			accepted++
		} else {
			refused++
		}
		stored, _ := json.Marshal(spec)
		differs := false
		for _, c := range clusters[1:] {
			theirs, err := next.send(ctx, c, created[c.name])
			if err != nil {
				return err
			}
			what := fmt.Sprintf("write %d: %s\nof %s", i, next, stored)
			if err := t.explain(difference{cluster: c.name, write: what, ours: ours, theirs: theirs}); err != nil {
				if failed = append(failed, err); len(failed) == maxFailed {
					return errors.Join(failed...)
				}
				differs = true
			}
			differs = differs || ours.accepted != theirs.accepted || ours.unchanged != theirs.unchanged
		}
		if differs {
			created = nil // the ships differ from now on
		}
	}
	t.printf("%d random writes on %d clusters: our server accepted %d and refused %d", t.Writes, len(clusters), accepted, refused)
	if accepted == 0 || refused == 0 {
		failed = append(failed, errors.New("the random writes compare nothing"))
	}
	return errors.Join(failed...)
}

// recreate replaces the ship on all clusters by another one, and returns it as each cluster stores it.
func (t *trial) recreate(ctx context.Context, clusters []*cluster) (map[string]object, error) {
	created := map[string]object{}
	spec := t.newShip()
	body, err := json.Marshal(object{"apiVersion": "example.com/v1", "kind": "Ship", "metadata": object{"name": "random"}, "spec": spec})
	if err != nil {
		return nil, err
	}
	for _, c := range clusters {
		_, err := c.client.Do(ctx, side.Request{Method: http.MethodDelete, Path: shipPath})
		var missing *side.StatusError
		if err != nil && !(errors.As(err, &missing) && missing.Code == http.StatusNotFound) {
			return nil, err
		}
		answer, err := c.client.Do(ctx, side.Request{Method: http.MethodPost, Path: shipsPath, Body: body})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if created[c.name], err = decode(answer); err != nil {
			return nil, err
		}
	}
	return created, nil
}

// send makes a write on a cluster. Created is the object as it was created. The outcome says whether the write changed the
// resourceVersion: a server that stores a write without a change makes later writes stale.
func (w write) send(ctx context.Context, c *cluster, created object) (outcome, error) {
	path, body := shipPath, w.body
	if w.subresource != "" {
		path += "/" + w.subresource
	}
	current, err := read(ctx, c, shipPath)
	if err != nil {
		return outcome{}, err
	}
	if w.replaces {
		replaced := maps.Clone(current)
		if w.stale {
			replaced = maps.Clone(created)
		}
		replaced["spec"], body = w.body, replaced
	}
	text, err := json.Marshal(body)
	if err != nil {
		return outcome{}, err
	}
	answer, err := c.client.Do(ctx, side.Request{Method: w.method, Path: path + w.query, ContentType: w.contentType, Body: text})
	o, err := outcomeOf(answer, err)
	if err != nil || !o.accepted {
		return o, err
	}
	stored, err := decode(answer)
	o.unchanged = resourceVersion(stored) == resourceVersion(current)
	return o, err
}

// resourceVersion returns the resourceVersion of an object.
func resourceVersion(obj object) any {
	metadata, _ := obj["metadata"].(object)
	return metadata["resourceVersion"]
}

// outcomeOf returns the outcome of a request. Its text has the content of an accepted object, or the reasons of a refusal.
func outcomeOf(answer []byte, err error) (outcome, error) {
	var refused *side.StatusError
	switch {
	case errors.As(err, &refused):
		var status struct {
			Message string
			Details struct{ Causes []cause }
		}
		if err := json.Unmarshal([]byte(refused.Text), &status); err != nil {
			return outcome{}, fmt.Errorf("%w: %w", refused, err)
		}
		text := webhookPrefix.ReplaceAllString(status.Message, "")
		return outcome{code: refused.Code, text: fmt.Sprintf("%s %q", text, status.Details.Causes), causes: status.Details.Causes}, nil
	case err != nil:
		return outcome{}, err
	}
	stored, err := decode(answer)
	if err != nil {
		return outcome{}, err
	}
	text, err := json.Marshal([]any{stored["spec"], stored["status"]})
	return outcome{accepted: true, code: http.StatusOK, text: string(text)}, err
}

// decode decodes an object and keeps the text of its numbers.
func decode(text []byte) (object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out object
	err := decoder.Decode(&out)
	return out, err
}

func read(ctx context.Context, c *cluster, path string) (object, error) {
	text, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return decode(text)
}
