// Package certificate has the admission plugins of certificates: they record the user that requests a certificate, and check the rights
// of a user that approves or signs a request, or writes a trust bundle. Package access/certificate signs the requests.
package certificate
