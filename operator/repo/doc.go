// Package repo finds packages: an index says which there are and where, and a
// short list of repositories says where the indexes are.
//
//	index, err := repo.Load(ctx, http.DefaultClient, "https://example.com/operators")
//	entry, err := index.Find(repo.Query{Name: "kafka"})
//	p, err := entry.Load(ctx, http.DefaultClient)
//
// A repository is a URL or a folder with index.yaml in it, in KUDO's format. What
// is fetched is bounded in size, and a package is compared with the digest in its
// index before it is read.
package repo
