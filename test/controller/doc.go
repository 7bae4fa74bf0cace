// Package controller runs controller-runtime managers against a server.
//
// Its tests have one controller, the publisher: for every Deployment it keeps a
// ConfigMap with the image of its first container, tells so in the Deployment's
// status and in an event, and cleans up before the Deployment goes. That takes
// what most controllers live on: a cache fed by watches, an index over it,
// server-side apply, owner references, finalizers, status updates that meet
// conflicts, events, and a Lease by which one of several managers leads.
package controller
