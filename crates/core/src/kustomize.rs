//! The part of kustomize a Flux installation needs: patches, selectors and transformers, on JSON values.
//!
//! ```text
//! ResourceList --apply_patches--> (JSON 6902 | strategic merge) --namespace--suffix--references--images--metadata--> objects
//! ```
//! Pure: no files, no remote bases, no generators. Except for the decisions below, the result is that of
//! `kustomize build` (checked against kustomize 5.5 by `tests/kustomize_judge.rs`).
//!
//! # Decisions
//! Where kustomize loses or garbles a part of a patch, this engine does what its author meant, or fails with the
//! reason:
//!
//! | # | case | kustomize | here |
//! |---|---|---|---|
//! | 1 | item of a list with two merge keys without the second one (`{port: 80}`) | changes are lost | a missing `protocol` is `TCP`; another missing second key matches the first item that agrees on the keys given |
//! | 2 | item of a keyed list without its first merge key | the whole list is emptied | error |
//! | 3 | the same merge key twice in one patch list | the second item is dropped | error |
//! | 4 | `$patch` in a list that has no merge key, or that the object does not have yet | written into the object | obeyed |
//! | 5 | `$setElementOrder`, `$retainKeys`, `$deleteFromPrimitiveList` | written into the object | error |
//! | 6 | `null` for an annotation or label | the text `"null"` | removes the key |
//! | 7 | a user patch whose target selects nothing | silence | a report without objects, from which callers warn or fail |
//! | 8 | JSON pointer without the leading `/` | its first part is dropped | error |
//! | 9 | array index with a sign or leading zero other than `-N` (`+1`, `01`) | accepted | error, as RFC 6901 says |
//! | 10 | `copy` from a member that does not exist | writes `null` | error |
//! | 11 | `add`, `replace` or `test` without `value` | writes or expects `null` | error |
//! | 12 | `move` into its own child | panics | error |
//! | 13 | a patch that takes away `apiVersion`, `kind` or `metadata.name` | fails later or drops the object | error that names patch and object |
//! | 14 | a patch of comments only, or an empty JSON patch (`[]`) | "qualifies as both" error up to 5.5, nothing later | changes nothing |
//! | 15 | a selector that is a legal Go expression but not one of the `regex` crate (`a{`) | accepted | error |
//! | 16 | a patch whose text is not needed by any object (target selects nothing) | not checked for errors of its operations | its syntax, operations and pointers are checked |
//! | 17 | `$patch: replace` or `delete` for a value that is not a mapping | error | obeyed |
//! | 18 | a number or boolean for what was text | text if the old value was written in quotes | as the patch has it |
//! | 19 | items beside `$patch: delete` in a list | kept if the old list had items | kept: they replace the list |
//! | 20 | `$patch: replace` in an item of a keyed list | no effect on an item that exists | obeyed |
//! | 21 | items beside `$patch: replace` in a list | merged with old items of the same key | they are the list |
//! | 22 | a number or boolean as a label of a JSON patch, of a patch without target, or in a pod template | stays one, which no API server takes | text, as in other labels and annotations |
//! | 23 | a mapping or list as a label or annotation | empty text | error |
//! | 24 | `test`, `copy` or `move` of `/metadata/annotations` or `/metadata` | includes annotations of kustomize itself | only those of the object |
//! | 25 | `annotations` or `labels` that are null, text or a list in a strategic merge patch | skipped | null removes them, the rest is an error |

mod json_patch;
mod metadata;
mod patch;
mod resource;
mod selector;
mod strategic_merge;
mod transform;

pub use crate::k8s::label_selector::{LabelSelector, LabelSelectorError};
pub use json_patch::JsonPatchError;
pub(crate) use json_patch::{JsonPatch, Operation};
pub use patch::{Patch, PatchError, PatchErrorKind, PatchKind, PatchReport, PatchedObject, apply_patches};
pub use resource::{DuplicateObject, ResourceList, is_cluster_scoped};
pub(crate) use resource::{Resource, child_mut, group_version, kind, name, namespace};
pub use selector::{Selector, SelectorError};
pub use strategic_merge::MergeError;
pub(crate) use strategic_merge::merge as strategic_merge;
pub(crate) use transform::ImageReplacement;
