package console

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"iter"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// adminToken is the token of a user that may do everything, readerToken that of a user without
// roles.
const (
	adminToken  = "admin-token-of-the-test"
	readerToken = "reader-token-of-the-test"
)

// startConsole runs a server with the console, and with a selection of controllers, all by default.
func startConsole(t *testing.T, controllers ...string) *servertest.Server {
	t.Helper()
	file := t.TempDir() + "/tokens.csv"
	lines := adminToken + ",admin,1,system:masters\n" + readerToken + ",reader,2,\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, apiserver.Config{Console: true, TokenFile: file, Controllers: controllers})
}

// browser is one tab of a browser, and what it sent and received.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []*network.Request
	bodies   []string
	errors   []string
	// messages are what the browser wrote to its console and its log.
	messages []string
}

// open opens a tab with the page of the console.
func open(t *testing.T, server *servertest.Server) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("ignore-certificate-errors-spki-list", publicKey(t, server.URL())),
		chromedp.WindowSize(1100, 1080),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root in its sandbox.
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, url: server.URL()}
	b.record()
	b.do(chromedp.Navigate(server.URL() + "/console/"))
	b.waitFor("the page has started", `!document.getElementById('sign-in').hidden || !document.getElementById('find').hidden`)
	return b
}

// publicKey returns the hash of the server's key, by which the browser trusts the server.
func publicKey(t *testing.T, address string) string {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", at.Host, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // reads the key only
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// record keeps the requests of the tab, the bodies of the answers, and the errors of scripts.
func (b *browser) record() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	go keep(b, chromedp.Events(b.ctx, network.RequestWillBeSent), func(event network.EventRequestWillBeSent) {
		b.requests = append(b.requests, event.Request)
	})
	go keep(b, chromedp.Console(b.ctx), func(message chromedp.ConsoleMessage) {
		b.messages = append(b.messages, message.String()+" "+message.URL)
		if message.IsException() {
			b.errors = append(b.errors, message.String())
		}
	})
	finished := chromedp.Events(b.ctx, network.LoadingFinished)
	go func() {
		for event, err := range finished {
			if err != nil {
				return
			}
			body, err := chromedp.Call(b.ctx, network.GetResponseBody, network.GetResponseBodyParams{RequestID: event.RequestID})
			if err == nil {
				b.mu.Lock()
				b.bodies = append(b.bodies, string(body.Body))
				b.mu.Unlock()
			}
		}
	}()
}

// keep calls a function for each event, under the lock of the browser.
func keep[E any](b *browser, events iter.Seq2[E, error], add func(E)) {
	for event, err := range events {
		if err != nil {
			return
		}
		b.mu.Lock()
		add(event)
		b.mu.Unlock()
	}
}

// do runs actions in the tab.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value returns the value of a JavaScript expression as a string. It waits for a promise.
func (b *browser) value(expression string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()", chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// press sends keys to the first element that a selector finds.
func (b *browser) press(selector, keys string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), keys))
}

// waitFor waits until a JavaScript expression is true. The policy of the page forbids the functions
// with which the driver would wait inside the page.
func (b *browser) waitFor(what, expression string) {
	b.t.Helper()
	waittest.Until(b.t, what, func() error {
		if b.value("Boolean("+expression+")") == "true" {
			return nil
		}
		says := b.text("body")
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Errorf("the page says %q, the browser %q", says, b.messages)
	})
}

// text returns the text of the first element that a selector finds, "" if there is none.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return b.value("document.querySelector(" + quote(selector) + ")?.innerText ?? ''")
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `\'`) + "'" }

// signIn types a token and presses Enter.
func (b *browser) signIn(token string) {
	b.t.Helper()
	b.press("#token", token+"\r")
	b.waitFor("signed in", `!document.getElementById('find').hidden`)
}

// show shows what the part of the URL after # names.
func (b *browser) show(hash, heading string) {
	b.t.Helper()
	b.value("location.hash = " + quote(hash))
	b.waitFor("the view "+heading, "document.querySelector('#view h2')?.innerText === "+quote(heading))
}

// checkTraffic checks that the page only read, sent the token only in a header, and stored
// nothing.
func (b *browser) checkTraffic() {
	b.t.Helper()
	b.mu.Lock()
	requests, errors := b.requests, b.errors
	b.mu.Unlock()
	for _, request := range requests {
		if request.Method != "GET" || !strings.HasPrefix(request.URL, b.url+"/") || strings.Contains(request.URL, "token-of-the-test") {
			b.t.Errorf("the page sent %s %s", request.Method, request.URL)
		}
	}
	if len(requests) < 5 || len(errors) > 0 {
		b.t.Errorf("%d requests, errors of scripts: %q", len(requests), errors)
	}
	stored := b.value("localStorage.length + sessionStorage.length + document.cookie.length")
	if address := b.value("location.href"); stored != "0" || strings.Contains(address, "token-of-the-test") {
		b.t.Errorf("the page stored %s entries, its address is %s", stored, address)
	}
}
