package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// referrers are the collections whose objects may refer to ConfigMaps and Secrets in the model.
var referrers = []string{
	"v1/pods", "apps/v1/deployments", "apps/v1/replicasets", "apps/v1/statefulsets", "apps/v1/daemonsets", "apps/v1/controllerrevisions",
	"batch/v1/cronjobs", "batch/v1/jobs", boats,
}

// targets are the collections that the server deletes from.
var targets = []string{"v1/configmaps", "v1/secrets"}

// seriesLabel is the label of the members of a series.
const seriesLabel = "holdfast.dev/series"

// oracle checks each deletion of a ConfigMap or a Secret. It knows nothing about where an object has a reference: every string in it is one.
type oracle struct {
	*Cluster
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	// deleted is the number of deletions, and wrong says what was deleted in use, or could not be checked.
	deleted int
	wrong   []string
}

// observe watches the targets until stop is called.
func (c *Cluster) observe(ctx context.Context) *oracle {
	ctx, cancel := context.WithCancel(ctx)
	o := &oracle{Cluster: c, cancel: cancel}
	for _, target := range targets {
		o.done.Go(func() { o.follow(ctx, target) })
	}
	return o
}

// follow lists a collection and watches it. A server that was killed does not know what happened before its start, so that follow lists again. An object
// that is missing then was deleted in between. follow does not see an object that was created in between too.
func (o *oracle) follow(ctx context.Context, target string) {
	known, last := map[string]bool{}, ""
	for ctx.Err() == nil {
		items, revision, err := o.read(ctx, path(target))
		if err != nil {
			time.Sleep(100 * time.Millisecond) // the server is down, or ctx has ended
			continue
		}
		now := map[string]bool{}
		for _, object := range items {
			now[object.name] = true
		}
		for name := range known {
			if !now[name] {
				o.missing(ctx, target, name, last, revision)
			}
		}
		known, last = now, revision
		_ = watch(ctx, o.client, path(target)+"?resourceVersion="+revision, func(e event) (bool, error) {
			name := e.Object.Metadata.Name
			last = e.Object.Metadata.ResourceVersion
			known[name] = true
			if e.Type == "DELETED" {
				delete(known, name)
				o.check(ctx, target, name, last)
			}
			return false, nil
		})
	}
}

// missing checks an object that existed at a revision and did not exist at a later one. It looks for the revision between both at which it was deleted.
func (o *oracle) missing(ctx context.Context, target, name, existed, gone string) {
	from, err := strconv.ParseUint(existed, 10, 64)
	to, err2 := strconv.ParseUint(gone, 10, 64)
	for err = errors.Join(err, err2); err == nil && from+1 < to; {
		middle := from + (to-from)/2
		var exists bool
		_, err = o.until(ctx, func(ctx context.Context) (string, error) {
			items, _, err := o.read(ctx, path(target)+exactly(strconv.FormatUint(middle, 10)))
			exists = slices.ContainsFunc(items, func(i item) bool { return i.name == name })
			return "", err
		})
		if exists {
			from = middle
		} else {
			to = middle
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			o.add(fmt.Sprintf("%s/%s was deleted between the revisions %s and %s: %v", target, name, existed, gone, err))
		}
		return
	}
	o.check(ctx, target, name, strconv.FormatUint(to, 10))
}

// exactly is the query of a list of the objects as they were at a revision.
func exactly(revision string) string {
	return "?resourceVersionMatch=Exact&resourceVersion=" + revision
}

func (o *oracle) add(message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong = append(o.wrong, message)
}

// check reads all objects as they were when one was deleted. The server may be down meanwhile.
func (o *oracle) check(ctx context.Context, target, name, revision string) {
	object := target + "/" + name
	o.mu.Lock()
	o.deleted++
	o.mu.Unlock()
	for _, referrer := range referrers {
		_, err := o.until(ctx, func(ctx context.Context) (string, error) {
			items, _, err := o.read(ctx, path(referrer)+exactly(revision))
			for _, item := range items {
				if item.strings[name] {
					o.add(fmt.Sprintf("%s was deleted at revision %s, and %s/%s referred to it", object, revision, referrer, item.name))
				}
			}
			return "", err
		})
		if err != nil && ctx.Err() == nil {
			o.add(fmt.Sprintf("%s was deleted at revision %s: %s: %v", object, revision, referrer, err))
		}
	}
}

// stop ends the watches. It returns the number of deletions, and what was wrong.
func (o *oracle) stop() (int, []string) {
	o.cancel()
	o.done.Wait()
	return o.deleted, o.wrong
}

// item is an object with all strings in it but those of its metadata and its status.
type item struct {
	name, created, series string
	strings               map[string]bool
}

// read lists a collection. It returns the revision too.
func (c *Cluster) read(ctx context.Context, path string) ([]item, string, error) {
	answer, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []map[string]any
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, "", err
	}
	var items []item
	for _, object := range list.Items {
		meta, _ := object["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		found := item{strings: map[string]bool{}}
		found.name, _ = meta["name"].(string)
		found.created, _ = meta["creationTimestamp"].(string)
		found.series, _ = labels[seriesLabel].(string)
		delete(object, "metadata")
		delete(object, "status")
		addStrings(object, found.strings)
		items = append(items, found)
	}
	return items, list.Metadata.ResourceVersion, nil
}

func addStrings(value any, found map[string]bool) {
	switch value := value.(type) {
	case string:
		found[value] = true
	case []any:
		for _, element := range value {
			addStrings(element, found)
		}
	case map[string]any:
		for _, element := range value {
			addStrings(element, found)
		}
	}
}

// unused returns the members of series that no object refers to, without the newest of each series.
func (c *Cluster) unused(ctx context.Context) ([]string, error) {
	used := map[string]bool{}
	for _, referrer := range referrers {
		items, _, err := c.read(ctx, path(referrer))
		if err != nil {
			return nil, err
		}
		for _, object := range items {
			for text := range object.strings {
				used[text] = true
			}
		}
	}
	var left []string
	var all error
	for _, target := range targets {
		items, _, err := c.read(ctx, path(target))
		all = errors.Join(all, err)
		items = slices.DeleteFunc(items, func(i item) bool { return i.series == "" })
		// All members of a kind are of one series.
		slices.SortFunc(items, func(a, b item) int {
			return -strings.Compare(a.created+a.name, b.created+b.name)
		})
		for i, object := range items {
			if i > 0 && !used[object.name] {
				left = append(left, target+"/"+object.name)
			}
		}
	}
	return left, all
}
