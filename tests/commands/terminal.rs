use crate::support::ClusterTest;
pub fn tests() -> Vec<ClusterTest> {
    vec![]
}
