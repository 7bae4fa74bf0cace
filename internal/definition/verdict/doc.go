// Package verdict says whether a server would refuse a stored object if a client wrote it again, as a new object.
//
//	judge, err := verdict.Compile(crd)
//	for _, refusal := range judge.Judge(ctx, object) {
//		fmt.Println(refusal.Path, refusal.Message, judge.Cause(refusal))
//	}
//
// A refusal has the values of the object. A cause has none of its data: it consists of fixed texts and of names and texts of the schema.
//
// A Judge is safe for concurrent use. It does not change objects.
package verdict
