// Package validity writes the condition StoredObjectsValid of CustomResourceDefinitions: whether the server would refuse stored objects if
// clients wrote them again as new objects.
//
//	c := validity.New(validity.Config{Definitions: informer, Store: store, Objects: readable})
//	resources.OnFirstObject(c.FirstObject)
//	go c.RunFirst(ctx) // on every server
//	c.Run(ctx)         // on the leader
//
// The condition itself says what is left to do, so that nothing is lost with a server:
//
//   - A definition without the condition has no objects, or a server has not looked. The server that stores an object reads the first
//     objects and adds the condition. After the start, the leader does the same for each such definition.
//   - Unknown: the leader has to read all objects. An update of a definition that may change the condition sets this, see package
//     definitions.
//   - False: the leader reads the objects again after each interval, until all are valid.
//   - True: there is nothing to do until the definition changes, because the server accepts only valid objects.
//
// The leader reads one kind at a time, and rests as long as it works. The condition has no data of the objects: a user that may read
// definitions may not be allowed to read objects. See package verdict.
package validity
