package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"holdfast.dev/holdfast/tools/bundle"
	"holdfast.dev/holdfast/tools/settings"
)

// publication is one run of the command.
type publication struct {
	settings.Settings
	// authorization is the header Authorization of uploads.
	authorization string
	version       string
	dryRun        bool
	// checkout is the root of the checkout, and files the folder with the files of the release, which build writes.
	checkout, files string
	build           func(context.Context) error
	out             io.Writer

	// commit is the commit of the release, and work a folder for temporary files.
	commit, work string
}

// target is a place that gets a part of the release.
type target interface {
	// String says what is published where.
	String() string
	// reach checks, before anything is built, that the place answers and that it can be written, as far as one can know that
	// without a write.
	reach(ctx context.Context) error
	// published reports whether the place has its part already. It is an error if the place has something else instead.
	published(ctx context.Context) (bool, error)
	publish(ctx context.Context) error
}

// run builds the release and publishes it.
func (p *publication) run(ctx context.Context) error {
	work, err := os.MkdirTemp("", "holdfast-publish-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	p.work = work
	if err := p.checkSettings(); err != nil {
		return fmt.Errorf("%w\nNothing was published", err)
	}
	if p.commit, err = p.checkCheckout(ctx); err != nil {
		return fmt.Errorf("%w\nNothing was published", err)
	}
	p.say("%s is the version of commit %.12s", p.version, p.commit)
	targets := p.targets()
	if err := reachAll(ctx, targets); err != nil {
		return fmt.Errorf("%w\nNothing was published", err)
	}
	if err := p.build(ctx); err != nil {
		return fmt.Errorf("%w\nNothing was published", err)
	}
	missing, err := p.missing(ctx, targets)
	if err != nil {
		return fmt.Errorf("%w\nNothing was published", err)
	}
	if p.dryRun {
		p.say("dry run: nothing was published")
		return nil
	}
	for i, t := range missing {
		if err := t.publish(ctx); err != nil {
			return fmt.Errorf("%s: %w\nPublished in this run: %d of %d. Run the command again to publish the rest", t, err, i, len(missing))
		}
		p.say("published: %s", t)
	}
	p.say("%s is published", p.version)
	return nil
}

// targets returns the places in the order in which they are published: a place comes after what it points to.
func (p *publication) targets() []target {
	all := []target{&files{publication: p}}
	switch {
	case p.MinisignKey != "":
		all = append(all, &signature{publication: p, tool: minisignTool, key: p.MinisignKey})
	case p.CosignKey != "":
		all = append(all, &signature{publication: p, tool: cosignTool, key: p.CosignKey})
	default:
		p.say("left out: a signature. The release is unsigned, because neither HOLDFAST_MINISIGN_KEY nor HOLDFAST_COSIGN_KEY is set")
	}
	all = append(all, &image{publication: p})
	if p.Charts != "" {
		all = append(all, &chart{publication: p})
	} else {
		p.say("left out: the chart in a registry, because HOLDFAST_CHARTS is empty")
	}
	all = append(all, &tag{publication: p})
	if p.Tap != "" {
		all = append(all, &manifests{publication: p, what: "formula for Homebrew", url: p.Tap, paths: formulaPaths})
	} else {
		p.say("left out: the formula in a tap, because HOLDFAST_TAP is empty")
	}
	if p.KrewIndex != "" {
		all = append(all, &manifests{publication: p, what: "manifests for krew", url: p.KrewIndex, paths: krewPaths})
	} else {
		p.say("left out: the manifests in an index of krew, because HOLDFAST_KREW_INDEX is empty")
	}
	return all
}

// reachAll returns the problems of all targets.
func reachAll(ctx context.Context, targets []target) error {
	var problems []error
	for _, t := range targets {
		if err := t.reach(ctx); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", t, err))
		}
	}
	return errors.Join(problems...)
}

// missing returns the targets that do not have their part, and says what each one has.
func (p *publication) missing(ctx context.Context, targets []target) ([]target, error) {
	var missing []target
	var problems []error
	for _, t := range targets {
		done, err := t.published(ctx)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", t, err))
		case done:
			p.say("is there: %s", t)
		default:
			p.say("to publish: %s", t)
			missing = append(missing, t)
		}
	}
	return missing, errors.Join(problems...)
}

// versionForm is the form of versions. A tag of an image cannot have the + of build metadata.
var versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// checkSettings checks what needs no other process.
func (p *publication) checkSettings() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !versionForm.MatchString(p.version) {
		problem("the version %q has not the form v0.1.0", p.version)
	}
	if p.Image == bundle.PlaceholderImage {
		problem("HOLDFAST_IMAGE is the placeholder %q: write the name of the image with its registry into %s", p.Image, settings.File)
	} else if _, err := imageTag(p.Image, p.version); err != nil {
		problem("HOLDFAST_IMAGE: %w", err)
	}
	if p.Charts != "" {
		if _, err := imageTag(p.Charts+"/"+bundle.Chart, p.version); err != nil {
			problem("HOLDFAST_CHARTS: %w", err)
		}
	}
	for _, at := range []struct{ name, url string }{{"HOLDFAST_UPLOADS", p.Uploads}, {"HOLDFAST_DOWNLOADS", p.Downloads}} {
		if !strings.HasPrefix(at.url, "https://") && !strings.HasPrefix(at.url, "http://") {
			problem("%s is %q: write an address that begins with https://", at.name, redacted(at.url))
		}
	}
	if p.Remote == "" {
		problem("HOLDFAST_REMOTE is empty: write the remote repository that gets the tag")
	}
	if p.MinisignKey != "" && p.CosignKey != "" {
		problem("HOLDFAST_MINISIGN_KEY and HOLDFAST_COSIGN_KEY are both set: a release has one signature")
	}
	return errors.Join(problems...)
}

func (p *publication) say(format string, args ...any) {
	fmt.Fprintf(p.out, "publish: "+format+"\n", args...)
}
