//! Control planes that tests have to themselves, one test after the other: to empty one takes a tenth of what its start
//! takes.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::Fallible;
use super::control_plane::{ControlPlane, Options};

/// Control planes that no test uses now. What earlier tests did to them is still there.
#[derive(Default)]
pub struct SpareControlPlanes(Mutex<Vec<ControlPlane>>);

impl SpareControlPlanes {
    /// Returns a control plane that is as it was after its start.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn lend(self: &Arc<Self>, options: &Options) -> Fallible<LentControlPlane> {
        if let Some(mut plane) = self.take(options) {
            match plane.empty().await {
                Ok(()) => return Ok(self.lent(plane)),
                Err(error) => eprintln!("a control plane could not be emptied, and another is started: {error}"),
            }
        }
        Ok(self.lent(ControlPlane::start_to_be_emptied(options.clone()).await?))
    }

    fn lent(self: &Arc<Self>, plane: ControlPlane) -> LentControlPlane {
        LentControlPlane { plane: Some(plane), spare: self.clone() }
    }

    fn take(&self, options: &Options) -> Option<ControlPlane> {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = spare.iter().position(|plane| plane.options() == options)?;
        Some(spare.swap_remove(index))
    }
}

/// A control plane that goes back to the spare ones when it is dropped, unless its servers were tampered with or its
/// test failed.
pub struct LentControlPlane {
    /// There until it is dropped.
    plane: Option<ControlPlane>,
    spare: Arc<SpareControlPlanes>,
}

impl Deref for LentControlPlane {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.plane.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for LentControlPlane {
    fn drop(&mut self) {
        let Some(plane) = self.plane.take() else { return };
        if !std::thread::panicking() && plane.can_be_emptied() {
            plane.rest();
            self.spare.0.lock().unwrap_or_else(PoisonError::into_inner).push(plane);
        }
    }
}
